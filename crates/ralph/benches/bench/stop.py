"""What `ralph hook stop` does with a task list, as a Python 3 script: checks 1, 2 and 2.5."""
import json
import os
import sys

STATUSES = [None, "needs_review", "changes_requested", "approved"]
WATCHED = ["passes", "reviewStatus", "reviewCount"]


def once(pairs):
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key is there twice")
    return fields


def is_string(value):
    return isinstance(value, str)


RULES = {
    "id": lambda value: is_string(value) and value != "",
    "title": is_string,
    "passes": lambda value: isinstance(value, bool),
    "priority": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "acceptanceCriteria": lambda value: isinstance(value, list) and value != [],
    "reviewStatus": lambda value: value in STATUSES,
    "reviewCount": lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    "reviewFeedback": is_string,
}


def schema(tasks):
    found = [name for name in ["project", "branchName", "description"] if not is_string(tasks.get(name))]
    ids = set()
    for story in tasks["userStories"]:
        found += [f"{story.get('id')}: {name}" for name, fits in RULES.items() if name not in story or not fits(story[name])]
        if story.get("id") in ids:
            found.append(f"{story['id']}: twice")
        ids.add(story.get("id"))
        if story.get("passes") is True and not story.get("notes", "").strip():
            found.append(f"{story['id']}: notes")
    return found


def invariants(tasks, cap):
    found = []
    for story in tasks["userStories"]:
        status, passes = story.get("reviewStatus"), story.get("passes")
        if passes and status != "approved":
            found.append(f"{story['id']}: not approved")
        if status == "approved" and not passes:
            found.append(f"{story['id']}: out of sync")
        if status == "changes_requested" and not story.get("reviewFeedback", "").strip():
            found.append(f"{story['id']}: feedback required")
        if isinstance(story.get("reviewCount"), int) and story["reviewCount"] > cap + 1:
            found.append(f"{story['id']}: too many reviews")
    return found


def transitions(before, after, mode, cap):
    now = {story.get("id"): story for story in reversed(after["userStories"])}
    found, changed = [], []
    for old in before["userStories"]:
        new = now.pop(old["id"], None)
        if new is None:
            if not (old["passes"] and old["reviewStatus"] == "approved"):
                found.append(f"{old['id']}: gone")
        elif any(old.get(name) != new.get(name) for name in WATCHED):
            changed.append((old, new))
    legal = 0
    for old, new in changed:
        if mode == "review":
            ends = (new["reviewStatus"], new["passes"])
            fits = (
                old["reviewStatus"] == "needs_review"
                and new["reviewCount"] == old["reviewCount"] + 1
                and ends in [("approved", True), ("changes_requested", False)]
                and not (ends[1] is False and new["reviewCount"] >= cap)
            )
        else:
            start = None if mode == "implement" else "changes_requested"
            fits = (
                (old["reviewStatus"], new["reviewStatus"]) == (start, "needs_review")
                and old["passes"] == new["passes"]
                and old["reviewCount"] == new["reviewCount"]
            )
        legal += fits
        if not fits or legal > 1:
            found.append(f"{old['id']}: illegal transition")
    for story in now.values():
        if (story.get("passes"), story.get("reviewStatus"), story.get("reviewCount")) != (False, None, 0):
            found.append(f"{story.get('id')}: not initial")
    return found


def same(a, b):
    """How many bytes are the same at the start."""
    size = 1024
    at = 0
    while at + size <= min(len(a), len(b)) and a[at : at + size] == b[at : at + size]:
        at += size
    while at < min(len(a), len(b)) and a[at] == b[at]:
        at += 1
    return at


def glance(before, places, after, mode, cap):
    """Whether the stories that differ are in order: only they have to be read."""
    if before == after:
        return mode != "review"
    head = same(before, after)
    tail = same(before[head:][::-1], after[head:][::-1])
    around = [place for place in places if place[1] > head]
    ends = [end for _, end in around if end >= len(before) - tail]
    if not ends or around[0][0] > head:
        return False
    start, end = around[0][0], ends[0]
    read = lambda text: {"userStories": json.loads(b"[" + text + b"]", object_pairs_hook=once)}
    old, new = read(before[start:end]), read(after[start : len(after) - (len(before) - end)])
    if [story["id"] for story in old["userStories"]] != [story["id"] for story in new["userStories"]]:
        return False
    new |= {"project": "", "branchName": "", "description": ""}
    return not (schema(new) or invariants(new, cap) or transitions(old, new, mode, cap))


def main():
    if not os.environ.get("RALPH_RUN"):
        return
    told = json.load(sys.stdin)
    with open(os.environ["RALPH_REVIEW"], "rb") as file:
        # The first line is the assignment, what follows the list as it was.
        head = json.loads(file.readline())
        before = file.read()
    found = check(head["assignment"], head["places"], before)
    if found:
        block(told, found)


def check(assignment, places, before):
    mode, cap = assignment["mode"], assignment["review_cap"]
    try:
        with open(assignment["tasks_file"], "rb") as file:
            after = file.read()
        try:
            if glance(before, places, after, mode, cap):
                return []
        except (ValueError, KeyError, TypeError):
            pass
        before = json.loads(before)
        after = json.loads(after, object_pairs_hook=once)
        found = schema(after)
        if not assignment["skip_review"]:
            found += invariants(after, cap)
        if found:
            old = set(schema(before) + invariants(before, cap))
            found = [problem for problem in found if problem not in old]
        return found + transitions(before, after, mode, cap)
    except (OSError, ValueError) as cause:
        return [str(cause)]


def block(told, found):
    state = os.path.join(os.environ["RALPH_HOME"], "hooks")
    os.makedirs(state, exist_ok=True)
    for number in range(1, 6):
        try:
            mark = os.path.join(state, f"{told['session_id']}.block-{number}")
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        print(json.dumps({"decision": "block", "reason": "\n".join(found)}))
        return


main()
