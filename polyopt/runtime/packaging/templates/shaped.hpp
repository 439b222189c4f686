#ifdef __cpp_lib_mdspan
/* The same on arrays with extents, in C order: sizes that are extents are read from them, and one
   that does not fit is thrown as a status. */
${inline}void run($parameters) {
$body
}
#endif
