"""Databases of results: experiments with their runs, simulated loads by key, and studies with who works on what."""

from mixedsched.world.store._database import (
    STORE_SCHEMA,
    UnreachableDatabaseError,
    database_file,
    file_address,
    shown_address,
)
from mixedsched.world.store._experiments import Store, StoredExperiment
from mixedsched.world.store._leases import Lease, LeaseLostError, QuarantinedError
from mixedsched.world.store._loads import AdoptedBlock
from mixedsched.world.store._memories import MemoryStore, open_memory, read_memory
from mixedsched.world.store._studies import StudyStore
from mixedsched.world.store._study_values import (
    BlockCounts,
    NewLoad,
    PlannedBlock,
    PlannedPlace,
    StoredLoad,
    StoredPlace,
    StoredStudy,
    StoredWorker,
)

__all__ = [
    "STORE_SCHEMA",
    "QuarantinedError",
    "AdoptedBlock",
    "BlockCounts",
    "Lease",
    "LeaseLostError",
    "MemoryStore",
    "NewLoad",
    "PlannedBlock",
    "PlannedPlace",
    "Store",
    "StoredExperiment",
    "StoredLoad",
    "StoredPlace",
    "StoredStudy",
    "StoredWorker",
    "StudyStore",
    "UnreachableDatabaseError",
    "database_file",
    "file_address",
    "open_memory",
    "read_memory",
    "shown_address",
]
