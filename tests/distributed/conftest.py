"""A session of Spark in this machine, one for all tests that need it; skipped, with the reason, where there is none."""

import sys
import warnings

import pytest

from shuffledp.core.errors import ShuffleDPError
from shuffledp.distributed.session import require_spark


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="session")
def session(place):
    try:
        require_spark()
    except ShuffleDPError as error:
        pytest.skip(str(error))
    from pyspark.sql import SparkSession

    logs = place / "events"
    logs.mkdir()
    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # half the processor time
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": logs.as_uri(),
        "spark.local.dir": str(place / "spills"),
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as changed:
        warnings.simplefilter("ignore")
        changed.setenv("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local[2, 2]")  # a task may run twice
        for name, value in settings.items():
            builder = builder.config(name, value)
        started = builder.getOrCreate()
        started.sparkContext.setLogLevel("OFF")
        yield started
        started.stop()
