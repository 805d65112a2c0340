"""Whether a case became faster or slower: the rule, and nothing else. Pure: times in, a word out.

The unit is a round, not a sample: samples of one process share its luck, so that more of them prove nothing. Of each
run the medians of its rounds are compared by Welch's interval on the difference of their logarithms; a change counts
if the interval excludes zero *and* it exceeds a threshold that someone would care about. What is neither a change nor
certainly none is called inconclusive, with what to do about it. Simulated in tests/compare/test_decision.py.
"""
