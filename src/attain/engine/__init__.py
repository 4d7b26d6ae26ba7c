"""What a search does to one row at a time, compiled when the package is built; arrays in, arrays out."""
