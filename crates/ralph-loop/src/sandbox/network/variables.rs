//! What tells programs inside about the proxy, and where the user's certificates are.

/// What never goes through the proxy: servers that run inside.
const LOCAL: &str = "localhost,127.0.0.1,::1";

/// Variables that are set inside if the network is reached through the proxy at a port of loopback. `variable` is
/// the user's environment.
pub fn set_inside(port: u16, variable: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
    let url = format!("http://127.0.0.1:{port}");
    let proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let proxies = proxies.into_iter().map(|name| (name, url.clone()));
    let local = ["NO_PROXY", "no_proxy"].map(|name| (name, LOCAL.to_owned()));
    // Node's own client obeys none of them otherwise. It takes any value but 0.
    let node = [("NODE_USE_ENV_PROXY", "1".to_owned())];
    // Java knows no such variables.
    let java = ["MAVEN_OPTS", "GRADLE_OPTS"].map(|name| {
        let own = ["http", "https"]
            .map(|scheme| format!("-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={port}"));
        let before = variable(name).map(|value| format!("{value} ")).unwrap_or_default();
        (name, format!("{before}{} {}", own[0], own[1]))
    });
    proxies.chain(local).chain(node).chain(java).collect()
}

/// Variables of the user that lead to a proxy outside, which cannot be reached inside.
pub const REMOVED_INSIDE: [&str; 8] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];

/// Variables that name a file or a directory of certificates. What they name is readable inside.
pub const CERTIFICATES: [&str; 14] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
    "NIX_SSL_CERT_FILE",
    "DENO_CERT",
    "npm_config_cafile",
    "CODEX_CA_CERTIFICATE",
];

#[cfg(test)]
mod tests {
    use super::super::PROXY_PORT;
    use super::*;

    #[test]
    fn programs_inside_find_the_proxy_in_each_of_its_spellings() {
        let own = |name: &str| (name == "MAVEN_OPTS").then(|| "-Xmx1g".to_owned());
        let set = set_inside(PROXY_PORT, &own);
        let value =
            |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
        for name in ["HTTP_PROXY", "https_proxy", "all_proxy"] {
            assert_eq!(value(name), Some("http://127.0.0.1:3128"), "{name}");
        }
        assert_eq!(value("no_proxy"), Some("localhost,127.0.0.1,::1"));
        assert!(
            value("MAVEN_OPTS")
                .unwrap()
                .starts_with("-Xmx1g -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128")
        );
        for name in REMOVED_INSIDE {
            assert!(value(name).is_some(), "{name}");
        }
    }
}
