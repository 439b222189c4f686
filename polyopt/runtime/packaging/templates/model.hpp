
/* Weights and memory, given back at the end. */
class model {
public:
    explicit model(const char *path) { check(${name}_open(path, &handle)); }
    model(model &&other) noexcept : handle(other.handle) { other.handle = nullptr; }
    model &operator=(model &&other) noexcept {
        ${name}_model *kept = handle;
        handle = other.handle;
        other.handle = kept;
        return *this;
    }
    ~model() { ${name}_close(handle); }

    model share() const { return model(shared{}, handle); }
    void verify() const { check(${name}_verify(handle)); }
    void run($parameters) { check(${name}_run($arguments)); }
$shaped
private:
    struct shared {};
    model(shared, ${name}_model *from) { check(${name}_share(from, &handle)); }
    ${name}_model *handle = nullptr;
};
