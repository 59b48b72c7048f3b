"""A student with a data frame: to a table with intervals, in five lines."""

import pandas as pd

import shuffledp as sdp

answers = pd.read_csv("acs_2019.csv.gz")["walking_difficulty"].dropna()
randomizer = sdp.KaryRandomizedResponse(epsilon0=1, categories=["No", "Yes"])
pipeline = sdp.Pipeline(randomizer=randomizer, shuffler=sdp.UniformShuffler(), analyzer=sdp.FrequencyAnalyzer())
estimate = pipeline.run(answers, delta=1e-6).estimate
print(estimate.to_frame()[["target", "estimate", "lower", "upper"]])
