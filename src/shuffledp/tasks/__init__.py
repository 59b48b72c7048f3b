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
from shuffledp.tasks.task import Missing, PeopleSection, ReleaseSection, Task

__all__ = [
    "ROW",
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
    "NoisySortSection",
    "NumberSection",
    "OneBitMeanSection",
    "OptimizedLocalHashingSection",
    "OptimizedUnaryEncodingSection",
    "Option",
    "OutOfRange",
    "Outcome",
    "PeopleSection",
    "Plan",
    "PrivUnitSection",
    "ProtocolPlan",
    "ProtocolSection",
    "RandomizerSection",
    "Reach",
    "Regional",
    "ReleaseSection",
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
    "audit_task",
    "column_label",
    "composed_columns",
    "composed_with",
    "mixing_of",
    "plan",
    "read_earlier",
    "read_task",
]
