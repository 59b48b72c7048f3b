# The public names of this family; each is imported when it is first used.
from .analyzers.sums import ShareSummary as ShareSummary
from .analyzers.sums import SumAnalyzer as SumAnalyzer
from .randomizers.split_and_mix import SplitAndMix as SplitAndMix
from .randomizers.split_and_mix import SplitAndMixModel as SplitAndMixModel
from .shufflers.imperfect import CayleyShuffler as CayleyShuffler
from .shufflers.imperfect import ComposedShuffler as ComposedShuffler
from .shufflers.imperfect import DelayShuffler as DelayShuffler
from .shufflers.imperfect import ImperfectShuffleModel as ImperfectShuffleModel
from .shufflers.imperfect import ImperfectShuffler as ImperfectShuffler
from .shufflers.imperfect import ObliviousShuffleModel as ObliviousShuffleModel
from .shufflers.imperfect import imperfect_shuffler as imperfect_shuffler
from .shufflers.parallel import ParallelShuffleModel as ParallelShuffleModel
from .shufflers.parallel import ParallelShuffler as ParallelShuffler
from .survey.protocol_section import ProtocolPlan as ProtocolPlan
from .survey.protocol_section import ProtocolSection as ProtocolSection
from .survey.protocol_section import SplitAndMixSection as SplitAndMixSection
from .theorems.additive_shares import SplitAndMixRounds as SplitAndMixRounds
