"""Protocols of a sum in first task files: the lines of their tables, with short comments."""

from shuffledp.protocols.family import FirstSum
from shuffledp.survey.questions.number import CLIPPING, RANGE

FIRST_SUMS = {
    "split-and-mix": FirstSum(
        table=f"""\
kind = "split-and-mix"  # only the shuffler protects: whoever has all messages of a person reads the answer
epsilon = 1.0  # the loss of everything released
statistic = "sum"  # or "mean"
integer = $integer
{RANGE}{CLIPPING}dropout_fraction = 0.1  # of the people expected, how many may stay away
""",
        about="least error, but one liar moves it by anything",
    ),
    "counted-bits": FirstSum(
        table=f"""\
kind = "counted-bits"  # only the shuffler protects; few liars move the result little
epsilon = 1.0  # the loss of everything released
statistic = "sum"  # or "mean"
# error = 0.5  # the largest standard error of the mean: less takes more messages
{RANGE}{CLIPPING}dropout_fraction = 0.1  # of the people expected, how many may stay away, or lie (see fakes)
""",
        about="few liars move it little",
    ),
    "vector-sum": FirstSum(
        table="""\
kind = "vector-sum"  # of lists; only the shuffler protects, and one liar moves the result by anything
epsilon = 1.0  # the loss of everything released
statistic = "sum"  # or "mean"
largest_norm = 1.0  # set it: the largest Euclidean length of a list
dimension = $dimension  # numbers in each list
out_of_range = "clip"  # longer lists are shortened
dropout_fraction = 0.1  # of the people expected, how many may stay away
""",
        about="of lists",
        of_lists=True,
    ),
}
