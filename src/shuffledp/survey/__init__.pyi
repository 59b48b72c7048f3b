# The public names of tasks, in the order of reading.
# isort: skip_file

# the task file
from .columns import Column as Column
from .columns import Missing as Missing
from .columns import PeopleSection as PeopleSection
from .columns import ReleaseSection as ReleaseSection
from .section import joint_name as joint_name
from .task import Blocks as Blocks
from .task import Task as Task

# questions with their randomizers, and protocols
from .questions.question import Question as Question
from .questions.single_choice import SingleChoice as SingleChoice
from .questions.number import NumberInRange as NumberInRange
from .questions.bins import NumberInBins as NumberInBins
from .questions.pairs import PairOfChoices as PairOfChoices
from .questions.vector import UnitVector as UnitVector

# kinds of shufflers
from .shuffler_section import ROW as ROW
from .shuffler_section import ShufflerSection as ShufflerSection

# the collection file
from .collection import Collection as Collection
from .parties import PartyNames as PartyNames
from .parties import Service as Service
from .web_page import WebPage as WebPage

# losses that add up, and what comes of a task
from .budget import composed_columns as composed_columns
from .budget import composed_with as composed_with
from .earlier import EarlierRelease as EarlierRelease
from .earlier import read_earlier as read_earlier
from .outcome import ColumnOutcome as ColumnOutcome
from .outcome import ColumnStage as ColumnStage
from .data_flow import Collected as Collected
from .data_flow import DEMONSTRATION as DEMONSTRATION
from .data_flow import LOCAL_NETWORK as LOCAL_NETWORK
from .data_flow import DataFlow as DataFlow
from .data_flow import Provenance as Provenance
from .data_flow import said_of_one_operator as said_of_one_operator
from .outcome import Outcome as Outcome
from .shuffle_result import ShuffleResult as ShuffleResult
from .outcome import StageOutcome as StageOutcome
from .outcome import Unreleased as Unreleased

# before a collection
from .planning.task_planning import ColumnPlan as ColumnPlan
from .planning.task_planning import Plan as Plan
from .planning.task_planning import column_plan as column_plan
from .planning.task_planning import people_for_error as people_for_error
from .planning.task_planning import plan as plan
from .planning.weekly_planning import WeeklyErrors as WeeklyErrors
from .planning.weekly_planning import WeeksPlan as WeeksPlan
from .planning.weekly_planning import plan_weeks as plan_weeks
from .task_audit import ColumnAudit as ColumnAudit
from .task_audit import TaskAudit as TaskAudit
from .task_audit import audit_task as audit_task
