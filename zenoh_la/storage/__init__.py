"""What was published, kept for those who ask later: the last value per topic and place."""
