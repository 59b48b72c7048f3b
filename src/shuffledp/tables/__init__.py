"""Files in and out: answers from CSV or Parquet, reports and views to Parquet, a task's stages from file to file."""

from shuffledp.tables.joint import run_joint_file
from shuffledp.tables.matrices import read_channel
from shuffledp.tables.stages import analyze_file, randomize_file, run_file, shuffle_file
from shuffledp.tables.writing import is_release, new_file, new_folder

__all__ = [
    "analyze_file",
    "is_release",
    "new_file",
    "new_folder",
    "randomize_file",
    "read_channel",
    "run_file",
    "run_joint_file",
    "shuffle_file",
]
