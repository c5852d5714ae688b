"""What `ralph hook context-monitor` does, as a Python 3 script: the same reads, the same state."""
import json
import os
import sys

TAILS = [64 << 10, 512 << 10, 8 << 20]
THRESHOLDS = [50, 60, 70, 80, 90]


def usage_of(line):
    try:
        line = json.loads(line)
    except ValueError:
        return None
    if line.get("type") == "assistant" and not line.get("isSidechain"):
        counts = (line.get("message") or {}).get("usage") or {}
    elif line.get("type") == "event_msg":
        counts = ((line.get("payload") or {}).get("info") or {}).get("last_token_usage") or {}
    else:
        return None
    names = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"]
    return sum(counts.get(name) or 0 for name in names) or None


def tokens_of(path):
    with open(path, "rb") as transcript:
        size = os.fstat(transcript.fileno()).st_size
        for tail in TAILS:
            start = max(0, size - tail)
            transcript.seek(start)
            lines = transcript.read().split(b"\n")
            for line in reversed(lines if start == 0 else lines[1:]):
                if b'"usage"' in line or b'"last_token_usage"' in line:
                    tokens = usage_of(line)
                    if tokens:
                        return tokens
            if start == 0:
                break
    return size // 4


def main():
    if not os.environ.get("RALPH_RUN"):
        return
    told = json.load(sys.stdin)
    window = int(os.environ.get("CLAUDE_CONTEXT_WINDOW", "200000"))
    tokens = tokens_of(told["transcript_path"])
    reached = [threshold for threshold in THRESHOLDS if tokens * 100 >= window * threshold]
    if not reached:
        return
    state = os.path.join(os.environ["RALPH_HOME"], "hooks")
    mark = lambda threshold: os.path.join(state, f"{told['session_id']}.context-{threshold}")
    if any(os.path.exists(mark(threshold)) for threshold in THRESHOLDS if threshold > reached[-1]):
        return
    try:
        os.makedirs(state, exist_ok=True)
        os.close(os.open(mark(reached[-1]), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    text = f"about {tokens * 100 // window}% of the context is used"
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": text}}))


main()
