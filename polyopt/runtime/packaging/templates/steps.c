    if (!model) {
        return ${guard}_NULL_POINTER;
    }
    polyopt_status = ${name}_begin(model, polyopt_size);
    if (polyopt_status) {
        return polyopt_status;
    }
    polyopt_status = polyopt_steps($arguments);
    ${name}_end(model);
    return polyopt_status;
