"""What was published, kept for those who ask later: the last value per topic and place."""

from zenoh_la.storage.service import Status, Storage
from zenoh_la.storage.store import Store, StoredValue

__all__ = ["Status", "Storage", "Store", "StoredValue"]
