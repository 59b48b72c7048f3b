"""The same survey with its three parties apart, and only what each of them may see."""

import json

import numpy as np

import shuffledp as sdp


def devices(num_people: int) -> list[sdp.Reports]:
    """Every person randomizes alone; one report leaves each device."""
    randomizer = sdp.KaryRandomizedResponse(epsilon0=1.5, domain_size=3)
    answers = np.random.default_rng(1).choice(3, size=num_people, p=[0.6, 0.3, 0.1])
    return [randomizer.randomize([answer]) for answer in answers]


def shuffler(reports: list[sdp.Reports]) -> str:
    """Sees who sent which report, never an answer; passes on a view, as JSON."""
    view = sdp.UniformShuffler().shuffle(sdp.Reports.concat(reports))
    return json.dumps(view.to_dict())


def analyst(message: str) -> None:
    """Sees the view alone. The parameters of the randomizer travel with the reports."""
    view = sdp.View.from_dict(json.loads(message))
    analyzer = sdp.FrequencyAnalyzer()
    print(analyzer.estimate(analyzer.summarize(view)))
    model = sdp.ProtocolModel(local=view.reports.model, shuffle=view.shuffle)
    print()
    print(sdp.account(model, delta=1e-6))


analyst(shuffler(devices(2_000)))
