"""Files in and out: answers from CSV or Parquet, reports and views to Parquet, a task's stages from file to file."""

from shuffledp.tables.grouping import read_grouping
from shuffledp.tables.joint import analyze_joint_files, randomize_joint_file, run_joint_file, shuffle_joint_files
from shuffledp.tables.matrices import read_channel, read_gain
from shuffledp.tables.networks import read_graphs
from shuffledp.tables.stages import analyze_file, randomize_file, run_file, shuffle_file
from shuffledp.tables.watching import Watch
from shuffledp.tables.writing import is_release, is_stage, new_file, new_folder

__all__ = [
    "Watch",
    "analyze_file",
    "analyze_joint_files",
    "is_release",
    "is_stage",
    "new_file",
    "new_folder",
    "randomize_file",
    "randomize_joint_file",
    "read_channel",
    "read_gain",
    "read_graphs",
    "read_grouping",
    "run_file",
    "run_joint_file",
    "shuffle_file",
    "shuffle_joint_files",
]
