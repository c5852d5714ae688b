//! Clusters: what runs in Kubernetes, and charts.

use super::{Rule, always};
use crate::guard::arg::Arg;
use crate::guard::{Category, Verdict};
use crate::guard::{Invocation, World};

pub const RULES: &[Rule] = &[
    Rule {
        id: "cluster-delete",
        category: Category::Cloud,
        verdict: Verdict::Block,
        patterns: &["kubectl|oc|k|kubecolor delete"],
        when: deletes_from_cluster,
        why: "deletes what runs in the cluster",
        instead: "get and describe, and let the user delete",
        catches: "kubectl delete namespace prod",
        passes: "kubectl get pods -n prod",
    },
    Rule {
        id: "cluster-delete-pod",
        category: Category::Cloud,
        verdict: Verdict::Warn,
        patterns: &["kubectl|oc|k|kubecolor delete pod|pods|po|pod/*|job|jobs|job/*"],
        when: deletes_one_pod,
        why: "restarts a pod of the cluster",
        instead: "leave it to the user",
        catches: "kubectl delete pod web-7d4b9",
        passes: "kubectl logs web-7d4b9",
    },
    Rule {
        id: "cluster-change",
        category: Category::Cloud,
        verdict: Verdict::Block,
        patterns: &[
            "kubectl|oc|k|kubecolor drain|cordon|taint|edit|patch",
            "kubectl|oc|k|kubecolor uncordon|set|autoscale|label|annotate",
            "kubectl|oc|k|kubecolor scale --replicas=0",
            "kubectl|oc|k|kubecolor replace --force",
            "kubectl|oc|k|kubecolor apply --prune",
            "kubectl|oc|k|kubecolor config delete-*|unset|set-*|rename-*",
            "kubectl|oc|k|kubecolor create clusterrolebinding|rolebinding|clusterrole|token",
            "kubectl|oc|k|kubecolor certificate approve|deny",
            "oc adm ~drain|policy|prune|cordon",
            "oc delete-project|policy|rollback",
        ],
        when: is_shared_cluster,
        why: "changes what runs in the cluster, or who may change it",
        instead: "write it into the manifests and let the user apply them",
        catches: "kubectl drain node-1 --ignore-daemonsets",
        passes: "kubectl --context kind-dev drain node-1",
    },
    Rule {
        id: "every-local-cluster",
        category: Category::Cloud,
        verdict: Verdict::Block,
        patterns: &[
            "kind delete clusters",
            "k3d cluster delete|rm|del -a|--all",
            "minikube delete --all|--purge",
        ],
        when: always,
        why: "deletes clusters of every project on this machine",
        instead: "delete the cluster of this project by its name",
        catches: "kind delete clusters --all",
        passes: "kind delete cluster --name test",
    },
    Rule {
        id: "rollout",
        category: Category::Cloud,
        verdict: Verdict::Warn,
        patterns: &[
            "kubectl|oc|k|kubecolor rollout undo|restart|pause",
            "helm upgrade|install",
            "kubectl|oc|k|kubecolor config use-context",
        ],
        when: is_shared_cluster,
        why: "changes what runs in the cluster",
        instead: "leave it to the user",
        catches: "kubectl rollout undo deployment/web",
        passes: "kubectl rollout status deployment/web",
    },
    Rule {
        id: "charts",
        category: Category::Cloud,
        verdict: Verdict::Block,
        patterns: &[
            "helm uninstall|delete|del|un|rollback",
            "helmfile destroy|delete|sync|apply",
            "argocd app|appset|proj|cluster|repo delete|delete-resource|rm|terminate-op|rollback|sync",
            "flux delete|uninstall|suspend",
            "istioctl uninstall",
            "istioctl x|experimental uninstall",
            "linkerd uninstall|prune",
            "velero ~delete",
            "velero restore create",
            "skaffold delete|run|deploy",
            "tilt down",
            "knative|kn ~delete",
            "cilium uninstall",
            "kubeadm reset",
            "k3s-uninstall.sh|k3s-agent-uninstall.sh|rke2-uninstall.sh",
            "microk8s reset|stop",
        ],
        when: is_shared_cluster,
        why: "removes what runs in the cluster",
        instead: "leave it to the user",
        catches: "helm uninstall shop -n prod",
        passes: "helm list -n prod",
    },
];

/// Not a cluster on this machine, as far as the command says.
fn is_shared_cluster(invocation: &Invocation, _: &World<'_>) -> bool {
    let contexts = ["--context", "--kube-context"]
        .iter()
        .flat_map(|flag| invocation.flag_values(flag))
        .collect::<Vec<Arg>>();
    let is_local = |context: &Arg| {
        let name = context.text();
        name.starts_with("kind-")
            || name.starts_with("k3d-")
            || name.starts_with("minikube")
            || matches!(
                name,
                "docker-desktop"
                    | "orbstack"
                    | "rancher-desktop"
                    | "colima"
                    | "docker-for-desktop"
                    | "microk8s"
            )
    };
    let is_trial = invocation
        .args
        .iter()
        .any(|arg| arg.text().starts_with("--dry-run") && arg.text() != "--dry-run=none");
    !contexts.iter().any(is_local) && !is_trial
}

/// One pod or job by its name, which its controller makes again.
fn is_one_pod(invocation: &Invocation) -> bool {
    let operands: Vec<&str> = invocation.operands().into_iter().map(Arg::text).collect();
    let names_one = match operands.as_slice() {
        [_, "pod" | "pods" | "po" | "job" | "jobs", _] => true,
        [_, name] => name.starts_with("pod/") || name.starts_with("job/"),
        _ => false,
    };
    let is_wide = invocation.has_any_flag(&[
        "--all",
        "--force",
        "-l",
        "--selector",
        "-A",
        "--all-namespaces",
        "--grace-period",
        "-f",
    ]);
    names_one && !is_wide
}

fn deletes_one_pod(invocation: &Invocation, world: &World<'_>) -> bool {
    is_one_pod(invocation) && is_shared_cluster(invocation, world)
}

fn deletes_from_cluster(invocation: &Invocation, world: &World<'_>) -> bool {
    !is_one_pod(invocation) && is_shared_cluster(invocation, world)
}
