//! Services that refuse: usage limits, outages, keys; and agents that stand in.

use crate::story::{check, play};

#[test]
fn a_limit_is_waited_out_and_uses_up_nothing() {
    check("", "start limited:60", "wait until 65s");
    check("", "start limited:60 65s woke", "agent 1.2");
    let (story, _) = play("", "start limited:60 65s woke");
    assert_eq!((story.state.ledger.judged, story.state.ledger.streaks.failures), (0, 0));
    check("n:1", "start limited:60 65s woke done", "judged 1 done, stop completed");
}

#[test]
fn a_limit_without_a_time_is_waited_for_longer_and_longer() {
    check("", "start limited", "wait until 1s");
    check("", "start limited due limited", "wait until 3s");
    check("", "start limited due limited due limited", "wait until 7s");
    check("backoff:800-900", "start limited due limited due limited", "wait until 2600s");
    // An answer ends the row.
    check("checks:1", "start limited due talk red limited", "wait until 2s");
}

#[test]
fn a_wait_for_a_service_ends_by_a_signal_or_the_time_of_the_run() {
    check("", "start limited:600 stop", "stop interrupted");
    check("max-time:60", "start limited:600", "wait until 60s");
    check("max-time:60", "start limited:600 60s woke", "stop timeout");
}

#[test]
fn an_outage_is_endured_up_to_its_limit() {
    check("", "start down", "wait until 1s");
    check("max-outage:10", "start down due down due down due", "agent 1.4");
    check("max-outage:5", "start down due down due", "agent 1.3");
    check("max-outage:5", "start down due down due down", "wait until 5s");
    check("max-outage:5", "start down due down due down 5s woke", "stop outage");
    // An agent that answers ends it.
    check("max-outage:5 checks:1", "start down due talk red 9s down", "wait until 10s");
}

#[test]
fn a_refusal_that_will_not_change_ends_the_run_at_once() {
    check("", "start nokey", "stop authentication (401)");
    check("", "start root", "stop error (no root)");
    check("", "start nokey resumed", "agent 1.2");
}

#[test]
fn a_refusal_for_good_is_another_agents_work() {
    check("agents:2", "start nokey", "agent 1 by 1");
    check("agents:2", "start nokey talk", "judged 1 green, agent 2 by 1");
    check("agents:2", "start root nokey", "stop error (no root)");
    // One that is only limited is waited for.
    check("agents:2", "start limited:60 nokey", "wait until 65s");
    check("agents:2", "start nokey limited:60 due", "agent 1 by 1");
    check("agents:2", "start nokey talk resumed", "agent 2.2");
}

#[test]
fn an_agent_that_tries_a_refused_key_is_ended_at_once() {
    check("", "start badkey", "ask (refused key)");
    check("", "start badkey nokey", "stop authentication (401)");
    check("agents:2", "start badkey nokey", "agent 1 by 1");
}

#[test]
fn an_agent_that_waits_for_the_network_is_ended_by_the_first_request_to_stop() {
    check("", "start stop", "wait");
    check("", "start offline stop", "ask (stop asked)");
    check("", "start stop offline", "ask (stop asked)");
    check("", "start offline leave", "ask (stop asked)");
    check("", "start offline stop ended", "stop interrupted");
    check("", "start offline stop ended resumed", "agent 1.2");
    check("", "start offline online stop", "wait");
}

#[test]
fn a_person_has_time_and_the_time_is_not_the_agents() {
    check("timeout:30", "start 10s person", "wait");
    check("timeout:30", "start 10s person 1000s woke", "wait");
    // Twenty seconds were left when the person was needed.
    check("timeout:30", "start 10s person 1000s online", "wait until 1020s");
    check("timeout:30", "start 10s person 1000s online 1005s person 2005s online", "wait until 2020s");
    check("timeout:30", "start 10s person 1000s online due", "ask (timeout 30s)");
    // Another thing to do is the same wait.
    check("timeout:30", "start 10s person 500s person 1000s online", "wait until 1020s");
    check("max-outage:60", "start person 1000s woke", "wait");
    check("max-time:60", "start person", "wait until 60s");
    check("max-time:60", "start person due", "ask (max-time)");
    // It would not end by itself.
    check("", "start person stop", "ask (stop asked)");
    check("", "start person kill", "kill (killed)");
    // The service is not back because a person has answered.
    check("max-outage:60", "start down due person 40s online offline", "wait until 60s");
}

#[test]
fn an_agent_without_a_network_waits_by_itself_up_to_the_outage() {
    check("max-outage:60", "start 1s offline", "wait until 61s");
    check("max-outage:60", "start 1s offline due", "ask (no network)");
    check("max-outage:60", "start 1s offline due down", "stop outage");
    // What was down before it counts as well, and ends when it gets through.
    check("max-outage:60", "start down due offline", "wait until 60s");
    check("max-outage:60", "start down due offline 50s online", "wait");
    check("max-outage:60", "start 1s offline 50s online offline", "wait until 110s");
    // Its own time being over is no failure then.
    check("max-outage:60 timeout:30", "start offline due", "ask (no network)");
    check("max-outage:60 timeout:30", "start offline due down", "wait until 31s");
    check("max-outage:60 timeout:30", "start offline 2s online due", "ask (timeout 30s)");
}

#[test]
fn another_agent_stands_in_for_one_without_a_network() {
    check("agents:2", "start offline", "wait until 15s");
    check("agents:2", "start offline due", "ask (no network)");
    check("agents:2", "start offline due down", "agent 1 by 1");
    check("agents:2 max-outage:5", "start offline", "wait until 5s");
    // With no agent to take over, it waits.
    check("agents:2 max-outage:600", "start limited:600 offline", "wait until 600s");
}

#[test]
fn another_agent_stands_in_and_steps_back() {
    check("agents:2", "start limited:60", "agent 1 by 1");
    check("agents:2", "start limited:60 talk", "judged 1 green, agent 2 by 1");
    check("agents:2", "start limited:60 65s talk", "judged 1 green, agent 2");
    check("agents:2", "start limited:60 limited:30", "wait until 35s");
    check("agents:2", "start limited:60 limited:30 35s woke", "agent 1 by 1");
}
