# The agent of a round of `ralph tasks`: `$1` is its own directory, outside of the project.
#
# What it does in its n-th call is the n-th number of `dice`. It implements, reviews and mends;
# at times it does so badly, fails, or cheats. `ledger` has a line when it begins, one
# before it touches the list and one after.
dir=$1
mode=$(sed -n 's/.*Mode: \*\*\([a-z-]*\)\*\*.*/\1/p' | head -n 1)
echo x >> "$dir/calls"
call=$(wc -l < "$dir/calls" | tr -d ' ')
roll=$(sed -n "${call}p" "$dir/dice")
list=ralph/tasks.json
story=$RALPH_STORY

will() { echo "$call $RALPH_ITERATION $mode $story $1" >> "$dir/ledger"; }
did() { echo "$call did" >> "$dir/ledger"; }

# STORY PASSES STATUS MORE: the review fields of a story; MORE is added to its reviews.
edit() {
    awk -v id="\"$1\"" -v passes="$2" -v status="$3" -v more="$4" '
        /^      "id": / { mine = index($0, id) }
        mine && /^      "passes": / { sub(/: .*/, ": " passes ",") }
        mine && /^      "reviewStatus": / { sub(/: .*/, ": " status ",") }
        mine && /^      "reviewCount": / { n = $2; sub(",", "", n); sub(/: .*/, ": " (n + more) ",") }
        mine && /^      "reviewFeedback": / { sub(/: .*/, ": \"look again\",") }
        mine && /^      "notes": / { sub(/: .*/, ": \"did it\",") }
        { print }' "$list" > "$dir/list.$call" && mv "$dir/list.$call" "$list"
}

# The list without a story that is not the last one.
drop() {
    awk -v id="\"$story\"" '
        /^    \{/ { inside = 1; held = "" }
        inside { held = held $0 "\n"; if (/^      "id": /) mine = index($0, id) }
        inside && /^    \}/ { if (!mine || !/,$/) printf "%s", held; inside = 0; next }
        !inside { print }' "$list" > "$dir/list.$call" && mv "$dir/list.$call" "$list"
}

commit() {
    echo "iteration $RALPH_ITERATION, call $call: $mode $story" >> ralph/progress.txt
    git add "made-$story" ralph && git commit -q -m "[$story] $mode"
}

forge() {
    sed 's/"iterationMode": "[a-z-]*"/"iterationMode": "review"/' .ralph-active > "$dir/active.$call"
    mv "$dir/active.$call" .ralph-active
}

will nothing
echo "call $call: $mode $story $roll"
sleep "0.0$((roll % 4))"
other=$(grep '^      "id": ' "$list" | sed 's/.*: "\(.*\)",/\1/' | sed -n "$((roll % 6 + 1))p")
case $mode in
    implement)
        if [ "$roll" -lt 50 ]; then
            will work; echo good > "made-$story"; edit "$story" false '"needs_review"' 0; did; commit
        elif [ "$roll" -lt 62 ]; then
            will work-badly; echo bad > "made-$story"; edit "$story" false '"needs_review"' 0; did; commit
        elif [ "$roll" -lt 69 ]; then
            will cheat; edit "$story" true '"approved"' 1; did
        elif [ "$roll" -lt 75 ]; then
            will drop; drop; did
        elif [ "$roll" -lt 82 ]; then
            will forge; forge; edit "$story" true '"approved"' 1; did
        elif [ "$roll" -lt 88 ]; then
            will remove; rm -f "$list"; did
        elif [ "$roll" -lt 94 ]; then
            will fail; echo good > "made-$story"; edit "$story" false '"needs_review"' 0; did; exit 3
        fi ;;
    review)
        if [ "$roll" -lt 50 ]; then
            will approve; edit "$story" true '"approved"' 1; did; commit
        elif [ "$roll" -lt 68 ]; then
            will send-back; edit "$story" false '"changes_requested"' 1; did; commit
        elif [ "$roll" -lt 76 ]; then
            will approve-and-fail; edit "$story" true '"approved"' 1; did; exit 4
        elif [ "$roll" -lt 82 ]; then
            will count-twice; edit "$story" true '"approved"' 2; did
        elif [ "$roll" -lt 88 ] && [ "$other" != "$story" ]; then
            will approve-two; edit "$other" true '"approved"' 1; edit "$story" true '"approved"' 1; did
        elif [ "$roll" -lt 94 ]; then
            will remove; rm -f "$list"; did
        fi ;;
    review-fix)
        if [ "$roll" -lt 70 ]; then
            will mend; echo good > "made-$story"; edit "$story" false '"needs_review"' 0; did; commit
        elif [ "$roll" -lt 80 ]; then
            will cheat; edit "$story" true '"approved"' 1; did
        elif [ "$roll" -lt 88 ]; then
            will drop; drop; did
        elif [ "$roll" -lt 94 ]; then
            will fail; echo good > "made-$story"; edit "$story" false '"needs_review"' 0; did; exit 5
        fi ;;
esac
exit 0
