# An agent: reads the prompt, does what the case says, and claims that the work is done.
# The first argument is the directory of the stage. $call is the number of the call, from 1.
root=$1
cat > "$root/prompt"
call=$(($(cat "$root/calls") + 1))
echo "$call" > "$root/calls"
export call
list=ralph/tasks.json

# The first story in this status, in the order of the list.
first() {
    awk -v status="$1" '/"id":/ { id = $2 } /"reviewStatus":/ && $2 ~ status { print id; exit }' "$list" |
        tr -d '",'
}

# STORY NAME VALUE: writes one field of a story. The list has one field per line.
set_field() {
    awk -v id="\"$1\"" -v name="\"$2\":" -v value="$3" '
        /"id":/ { here = index($0, id) > 0 }
        here && $1 == name { comma = /,$/ ? "," : ""; sub(/:.*/, ": " value comma) }
        { print }' "$list" > "$root/list" && cat "$root/list" > "$list"
}

count_of() {
    awk -v id="\"$1\"" '/"id":/ { here = index($0, id) > 0 } here && /"reviewCount":/ { print $2 + 0 }' "$list"
}

# What the three modes of `ralph tasks` ask for, in its order.
work_on_list() {
    story=$(first changes_requested)
    if [ -n "$story" ]; then
        sh "$root/act.sh" || exit 1
        set_field "$story" reviewFeedback '""'
        set_field "$story" reviewStatus '"needs_review"'
        return
    fi
    story=$(first needs_review)
    if [ -n "$story" ]; then
        sh "$root/review.sh" || exit 1
        set_field "$story" reviewCount $(($(count_of "$story") + 1))
        set_field "$story" reviewStatus '"approved"'
        set_field "$story" passes true
        return
    fi
    story=$(first null)
    sh "$root/act.sh" || exit 1
    set_field "$story" notes '"done as described"'
    # An agent that was not asked for reviews approves its own work.
    case " ${CASE_ARGS:-} " in
        *" --skip-review "*) set_field "$story" passes true ;;
        *) set_field "$story" reviewStatus '"needs_review"' ;;
    esac
}

if [ -f "$list" ]; then
    work_on_list
    echo 'The list is up to date.'
elif [ -n "${RALPH_STORY:-}" ]; then
    sh "$root/act.sh" || exit 1
    echo "<ralph>DONE $RALPH_STORY</ralph>"
else
    sh "$root/act.sh" || exit 1
    echo '<response>DONE</response>'
fi
