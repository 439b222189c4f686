
/* Weights, mapped from a file and never written, and memory for one call at a time. */
typedef struct ${name}_model ${name}_model;

/* A model with the weights of a file, which must stay as it is while models use it. Processes and
   models that open the same file share its memory. */
${guard}_API int ${name}_open(const char *path, ${name}_model **model);

/* Another model on the same mapping of the weights, so that calls on both run at once. */
${guard}_API int ${name}_share(${name}_model *from, ${name}_model **model);

/* Reads all weights, and says whether they are those that were written. */
${guard}_API int ${name}_verify(const ${name}_model *model);

/* Gives back what a model has; the weights with the last one. NULL is nothing. */
${guard}_API void ${name}_close(${name}_model *model);

/* Takes the memory that calls of these sizes need: else the first of them does. Memory that is
   there stays, so the largest sizes serve all. */
${guard}_API int ${name}_reserve(${name}_model *model, const int64_t *sizes);

/* Bytes that a model has taken for tensors between kernels. */
${guard}_API size_t ${name}_memory(const ${name}_model *model);
