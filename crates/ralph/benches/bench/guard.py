"""The guard as a list of regular expressions, as a Python 3 script: one or two for each category."""

import json
import os
import re
import sys

PATTERNS = [
    ("files", r"\brm\s+(-[a-zA-Z]*[rf][a-zA-Z]*\s+)+(/|~|\$HOME|\.\.)"),
    ("files", r"\bfind\s+/\S*\s.*-delete\b"),
    ("files", r"\bshred\b"),
    ("disks", r"\bmkfs(\.\w+)?\b"),
    ("disks", r"\bdd\b.*\bof=/dev/"),
    ("disks", r"\b(fdisk|parted|wipefs)\b"),
    ("denial", r":\(\)\s*\{\s*:\s*\|\s*:"),
    ("denial", r"\byes\b.*>\s*/"),
    ("exfiltration", r"\bcurl\b.*(-d|--data|-F|-T|--upload-file)\s*@"),
    ("exfiltration", r"\b(scp|rsync)\b.*\S+@\S+:"),
    ("shells", r"\b(curl|wget)\b.*\|\s*(sudo\s+)?(ba|z|da)?sh\b"),
    ("shells", r"/dev/(tcp|udp)/"),
    ("shells", r"\bnc\b.*\s-[a-z]*e"),
    ("shells", r"\bssh\b.*\s-R\s"),
    ("credentials", r"\.ssh/id_"),
    ("credentials", r"\.aws/credentials"),
    ("credentials", r"/etc/shadow"),
    ("credentials", r"\b(printenv|env)\b.*(TOKEN|SECRET|KEY)"),
    ("privilege", r"\bsudo\b"),
    ("privilege", r"\bchmod\s+[ugo+]*s\b|\bchmod\s+[4267]7\d\d\b"),
    ("containers", r"\bdocker\s+run\b.*--privileged"),
    ("containers", r"\bdocker\s+run\b.*-v\s*/:"),
    ("packages", r"\bnpm\s+(publish|unpublish)\b"),
    ("packages", r"\bcargo\s+publish\b|\btwine\s+upload\b"),
    ("packages", r"\b(npm|pnpm|yarn)\s+.*(-g|--global)\b"),
    ("git", r"\bgit\s+push\b.*(--force|-f\b|--mirror|--delete)"),
    ("git", r"\bgit\s+reset\s+--hard\b"),
    ("git", r"\bgit\s+(filter-branch|filter-repo)\b"),
    ("system", r"\b(systemctl|launchctl)\s+(stop|disable|mask)\b"),
    ("system", r">\s*/etc/"),
    ("obfuscation", r"\bbase64\s+(-d|--decode).*\|\s*(ba)?sh\b"),
    ("obfuscation", r"\beval\b"),
    ("environment", r"\bLD_PRELOAD="),
    ("processes", r"\b(pkill|killall)\b"),
    ("persistence", r"\bcrontab\b"),
    ("persistence", r">>?\s*~/\.(bashrc|zshrc|profile)"),
    ("databases", r"(?i)\bdrop\s+(table|database)\b"),
    ("databases", r"(?i)\btruncate\s+table\b"),
    ("cloud", r"\bterraform\s+destroy\b"),
    ("cloud", r"\bkubectl\s+delete\b"),
]
PROTECTED = [r"(^|/)\.git(/|$)", r"(^|/)\.claude/", r"(^|/)\.env$"]


def allowed(command):
    path = os.path.join(os.getcwd(), "ralph/allowed-commands.txt")
    if not os.path.exists(path):
        return False
    with open(path) as lines:
        return any(line.strip() and re.search(line.strip(), command) for line in lines)


def main():
    call = json.load(sys.stdin)
    tool, given = call.get("tool_name"), call.get("tool_input", {})
    if tool == "Bash":
        text, patterns = given.get("command", ""), PATTERNS
    else:
        text, patterns = given.get("file_path", ""), [("paths", pattern) for pattern in PROTECTED]
    for category, pattern in patterns:
        if re.search(pattern, text) and not allowed(text):
            print(f"denied: {category}: {pattern}", file=sys.stderr)
            sys.exit(2)


main()
