"""Tasks: what is fixed before a collection begins, in a file that all parties can read, check and hash."""

from shuffledp.tasks.auditing import ColumnAudit, TaskAudit, audit_task
from shuffledp.tasks.budget import column_label, composed_columns, composed_with
from shuffledp.tasks.earlier import CountedRelease, EarlierRelease, read_earlier
from shuffledp.tasks.frequency_oracles import (
    HadamardResponseSection,
    OptimizedLocalHashingSection,
    OptimizedUnaryEncodingSection,
    SubsetSelectionSection,
    SymmetricUnaryEncodingSection,
)
from shuffledp.tasks.grouped_shufflers import (
    AutoSection,
    GroupedSection,
    MallowsSection,
    NoisySortSection,
)
from shuffledp.tasks.groups import Grouping, GroupsSection
from shuffledp.tasks.groups_planning import GroupsPlan, Reach
from shuffledp.tasks.joint import JointTask, ValueSection, read_task
from shuffledp.tasks.mixing import Mixing, mixing_of
from shuffledp.tasks.network import Graphs, NetworkSection, along
from shuffledp.tasks.network_plan import AfterRounds, NetworkPlan, PartOfGraph, PrintedFormula, Risk, Walked
from shuffledp.tasks.network_planning import plan_network
from shuffledp.tasks.network_rounds import walking
from shuffledp.tasks.numbers import (
    DiscreteLaplaceMeanSection,
    NumberSection,
    OneBitMeanSection,
    OutOfRange,
    PrivUnitSection,
    RoundedMeanSection,
)
from shuffledp.tasks.outcome import DataFlow, JointOutcome, JointStageOutcome, Outcome, Regional, StageOutcome
from shuffledp.tasks.planning import ColumnPlan, Option, Plan, Unfit, plan
from shuffledp.tasks.protocols import ProtocolPlan, ProtocolSection, SplitAndMixSection
from shuffledp.tasks.randomizers import (
    CategoricalSection,
    Category,
    ExpectedError,
    KaryRandomizedResponseSection,
    RandomizerSection,
)
from shuffledp.tasks.shufflers import ROW, IdentitySection, ImperfectSection, ShufflerSection, UniformSection
from shuffledp.tasks.surroundings import shuffler_of
from shuffledp.tasks.task import Missing, PeopleSection, ReleaseSection, Task

__all__ = [
    "ROW",
    "AfterRounds",
    "AutoSection",
    "CategoricalSection",
    "Category",
    "ColumnAudit",
    "ColumnPlan",
    "CountedRelease",
    "DataFlow",
    "DiscreteLaplaceMeanSection",
    "EarlierRelease",
    "ExpectedError",
    "Graphs",
    "GroupedSection",
    "Grouping",
    "GroupsPlan",
    "GroupsSection",
    "HadamardResponseSection",
    "IdentitySection",
    "ImperfectSection",
    "JointOutcome",
    "JointStageOutcome",
    "JointTask",
    "KaryRandomizedResponseSection",
    "MallowsSection",
    "Missing",
    "Mixing",
    "NetworkPlan",
    "NetworkSection",
    "NoisySortSection",
    "NumberSection",
    "OneBitMeanSection",
    "OptimizedLocalHashingSection",
    "OptimizedUnaryEncodingSection",
    "Option",
    "OutOfRange",
    "Outcome",
    "PartOfGraph",
    "PeopleSection",
    "Plan",
    "PrintedFormula",
    "PrivUnitSection",
    "ProtocolPlan",
    "ProtocolSection",
    "RandomizerSection",
    "Reach",
    "Regional",
    "ReleaseSection",
    "Risk",
    "RoundedMeanSection",
    "ShufflerSection",
    "SplitAndMixSection",
    "StageOutcome",
    "SubsetSelectionSection",
    "SymmetricUnaryEncodingSection",
    "Task",
    "TaskAudit",
    "Unfit",
    "UniformSection",
    "ValueSection",
    "Walked",
    "along",
    "audit_task",
    "column_label",
    "composed_columns",
    "composed_with",
    "mixing_of",
    "plan",
    "plan_network",
    "read_earlier",
    "read_task",
    "shuffler_of",
    "walking",
]
