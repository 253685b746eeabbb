"""Parts of the secure statistics: columns as integers, exact moments, the report."""
