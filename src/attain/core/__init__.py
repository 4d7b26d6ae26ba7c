"""What every room needs: errors, files, containers, checks, text and progress, and data frames of any library."""
