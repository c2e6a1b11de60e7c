"""The laws of combining votes, which algebra.py states."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule_reviewer_panel.algebra import Vote, combine, is_settled

AMENDMENTS = st.sampled_from([None, ("command_prefix", "git"), ("network_host", "https", "a")])
VOTES = st.one_of(
    st.sampled_from([Vote(one) for one in ("decline", "cancel", "escalate", "unknown")]),
    st.builds(Vote, st.just("accept"), st.booleans(), AMENDMENTS),
)
POLLS = st.lists(VOTES, min_size=1, max_size=6)
UNORDERED = st.sampled_from(["all_of", "any_of", "k_of_n", "veto"])
MODES = st.sampled_from(["chain", "all_of", "any_of", "k_of_n", "veto"])
KS = st.integers(1, 6)
WIDTH = {"cancel": 0, "decline": 0, "unknown": 1, "escalate": 1, "accept": 2}


def is_no_wider(new, old):
    if WIDTH[new.stance] != WIDTH[old.stance]:
        return WIDTH[new.stance] < WIDTH[old.stance]
    return new.for_session <= old.for_session and new.amendment in (None, old.amendment)


@given(
    st.sampled_from(["all_of", "veto"]), POLLS, st.sampled_from(["decline", "cancel"]), st.data()
)
def test_deny_dominates(mode, votes, refusal, data):
    place = data.draw(st.integers(0, len(votes)))
    votes.insert(place, Vote(refusal))

    assert combine(mode, votes).refuses


@given(POLLS, st.data())
def test_one_more_member_under_all_of_never_widens(votes, data):
    more = list(votes)
    more.insert(data.draw(st.integers(0, len(votes))), data.draw(VOTES))

    assert is_no_wider(combine("all_of", more), combine("all_of", votes))


@given(UNORDERED, POLLS, KS, st.randoms(use_true_random=False))
def test_order_never_matters_except_in_a_chain(mode, votes, k, random):
    shuffled = list(votes)
    random.shuffle(shuffled)

    assert combine(mode, shuffled, k) == combine(mode, votes, k)


@given(MODES, POLLS, KS)
def test_nothing_is_allowed_without_a_vote_that_allows_it(mode, votes, k):
    ruling = combine(mode, votes, k)
    accepting = [vote for vote in votes if vote.stance == "accept"]

    if ruling.stance == "accept":
        assert accepting
        assert ruling.amendment is None or ruling.amendment in [v.amendment for v in accepting]
        assert not ruling.for_session or any(vote.for_session for vote in accepting)


@given(UNORDERED, POLLS, KS)
def test_it_lasts_only_where_all_who_decided_say_so(mode, votes, k):
    ruling = combine(mode, votes, k)
    accepting = [vote for vote in votes if vote.stance == "accept"]

    if ruling.stance == "accept":
        assert ruling.for_session == all(vote.for_session for vote in accepting)
        assert ruling.amendment is None or {v.amendment for v in accepting} == {ruling.amendment}


@given(POLLS)
def test_thresholds_meet_any_and_all(votes):
    assert combine("any_of", votes) == combine("k_of_n", votes, 1)
    is_allowed = combine("all_of", votes).stance == "accept"
    assert is_allowed == (combine("k_of_n", votes, len(votes)).stance == "accept")


@given(UNORDERED, POLLS, KS, st.data())
def test_a_stricter_vote_never_widens(mode, votes, k, data):
    place = data.draw(st.integers(0, len(votes) - 1))
    stricter = list(votes)
    stricter[place] = Vote("decline")

    new, old = combine(mode, stricter, k), combine(mode, votes, k)
    assert WIDTH[new.stance] <= WIDTH[old.stance]


@given(MODES, POLLS, KS)
def test_a_failed_member_is_never_better_than_a_refusal_by_whom_a_person_speaks(mode, votes, k):
    """With everybody answering for the unknown, the ruling is what that person says."""
    ruling = combine(mode, votes, k)
    if mode == "veto" or not ruling.is_open:
        return
    for answer, refuses in ((Vote("accept"), False), (Vote("decline"), True)):
        spoken = [answer if vote.is_open else vote for vote in votes]
        assert combine(mode, spoken, k).refuses is refuses


@given(UNORDERED, POLLS, KS, st.lists(VOTES, max_size=4))
def test_settled_means_settled(mode, votes, k, rest):
    if not is_settled(mode, votes, len(rest), k):
        return
    early, late = combine(mode, votes, k), combine(mode, [*votes, *rest], k)

    if early.refuses or late.refuses:
        assert early.refuses
        assert late.refuses
    else:
        assert early == late


@pytest.mark.parametrize("mode", ["chain", "all_of", "any_of", "k_of_n", "veto"])
def test_nobody_refuses(mode):
    assert combine(mode, []).refuses


@pytest.mark.parametrize(
    ("stances", "ruling"),
    [
        (["escalate", "accept", "decline"], "accept"),
        (["escalate", "decline", "accept"], "decline"),
        (["unknown", "accept"], "unknown"),
        (["escalate", "escalate"], "escalate"),
        (["cancel", "accept"], "cancel"),
    ],
)
def test_in_a_chain_the_first_who_does_not_pass_it_on_decides(stances, ruling):
    assert combine("chain", [Vote(stance) for stance in stances]).stance == ruling


@pytest.mark.parametrize(
    ("stances", "ruling"),
    [
        (["escalate", "accept"], "accept"),
        (["escalate", "escalate"], "escalate"),
        (["unknown", "accept"], "unknown"),
    ],
)
def test_under_veto_an_open_vote_is_no_objection_but_a_failure_is(stances, ruling):
    assert combine("veto", [Vote(stance) for stance in stances]).stance == ruling
