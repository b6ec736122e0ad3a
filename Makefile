# make run   sets everything up, builds, runs the toy recipe and ends with the path of its report
# make test  sets everything up, builds and passes all tests
# make test-all  also the slow ones, clang-tidy, sanitizers and fuzzers: before a change is called done
RECIPE ?= recipes/toy.toml
BUILD ?= build
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 30

.PHONY: build run test test-all asan tsan fuzz cuda-check format format-check tidy coverage hooks install wheel packages bench clean compile
build:
	@scripts/setup.sh
	@$(MAKE) --no-print-directory compile TARGET=product

# A CMake that was configured by one of the targets below stays configured.
TARGET ?= all
compile:
	@test -f $(BUILD)/build.ninja || cmake -S . -B $(BUILD) -G Ninja -DGH_TORCH_DIR="$$(cat build/torch-dir)" $(CMAKE_ARGS)
	@cmake --build $(BUILD) -j $(JOBS) --target $(TARGET)

run: build
	@$(BUILD)/bin/ghhost run $(RECIPE) $(ARGS)

test:
	@scripts/setup.sh --test
	@$(MAKE) --no-print-directory format-check
	@scripts/commit_subjects.py
	@$(MAKE) --no-print-directory compile CMAKE_ARGS="-DGH_WERROR=ON $(CMAKE_ARGS)"
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

test-all: test
	@$(MAKE) --no-print-directory tidy
	@GH_SLOW=1 ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) -L slow
	@$(MAKE) --no-print-directory asan
	@$(MAKE) --no-print-directory tsan
	@$(MAKE) --no-print-directory fuzz

# Unit tests, the zoo and the fuzz targets' corpora under AddressSanitizer and UndefinedBehaviorSanitizer.
asan:
	@scripts/setup.sh --test
	@$(MAKE) --no-print-directory compile BUILD=build-asan \
	  CMAKE_ARGS="-DGH_SANITIZE=address -DCMAKE_BUILD_TYPE=RelWithDebInfo"
	@ctest --test-dir build-asan --output-on-failure -j $(JOBS) -L unit

# Loader and ranks under ThreadSanitizer, which wants addresses where it expects them.
tsan:
	@scripts/setup.sh --test
	@$(MAKE) --no-print-directory compile BUILD=build-tsan TARGET="test_data test_ranks" \
	  CMAKE_ARGS="-DGH_SANITIZE=thread -DCMAKE_BUILD_TYPE=RelWithDebInfo"
	@$$(setarch -R true 2>/dev/null && echo setarch -R) ctest --test-dir build-tsan --output-on-failure -j $(JOBS) -R '^(data|ranks)$$'

# Half a minute of libFuzzer for every reader of foreign files. FUZZ_SECONDS=… for longer.
fuzz:
	@scripts/setup.sh --test-all
	@$(MAKE) --no-print-directory compile BUILD=build-fuzz TARGET=fuzz_targets \
	  CMAKE_ARGS="-DGH_SANITIZE=fuzzer -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_C_COMPILER=clang-14"
	@FUZZ_SECONDS=$(FUZZ_SECONDS) ctest --test-dir build-fuzz --output-on-failure -j $(JOBS) -L fuzz

# Everything compiled and linked against a CUDA build of LibTorch, GPU or not. Gets 5 GB of packages the first time.
cuda-check:
	@scripts/setup.sh
	@JOBS=$(JOBS) scripts/cuda_check.sh

CXX_FILES = $$(git ls-files '*.cpp' '*.hpp' '*.h' ':!sdk/templates')
format:
	@scripts/setup.sh --test
	@.venv/bin/clang-format -i $(CXX_FILES)
format-check:
	@.venv/bin/clang-format --dry-run -Werror $(CXX_FILES) && echo "format: clean"

# The list of .clang-tidy over host/ and sdk/, in a directory of its own: Clang cannot read headers that GCC precompiled, nor the
# loops for one kind of processor, which are in GCC's vector language. FILES=host/text for a part.
FILES ?= (host|sdk/src|sdk/ops/src)/(?!.*_loops\.cpp)
tidy:
	@scripts/setup.sh --test-all
	@cmake -S . -B build-tidy -G Ninja -DGH_PRECOMPILE=OFF -DBUILD_TESTING=OFF -DGH_TORCH_DIR="$$(cat build/torch-dir)" >/dev/null
	@run-clang-tidy-14 -p build-tidy -quiet -j $(JOBS) '^$(CURDIR)/$(FILES)' && echo "tidy: clean"

# Which lines unit tests run, as pages and a summary in build-coverage/pages.
coverage:
	@scripts/setup.sh --test
	@.venv/bin/pip install --quiet --disable-pip-version-check gcovr==8.8
	@$(MAKE) --no-print-directory compile BUILD=build-coverage CMAKE_ARGS="-DCMAKE_BUILD_TYPE=Debug \
	  -DCMAKE_CXX_FLAGS='--coverage -O1 -fprofile-update=atomic' $(CMAKE_ARGS)"
	@find build-coverage -name '*.gcda' -delete
	@ctest --test-dir build-coverage --output-on-failure -j $(JOBS) -L unit
	@mkdir -p build-coverage/pages
	@.venv/bin/gcovr build-coverage --root . --filter host/ --filter sdk/ --filter plugins/ --exclude '.*/test\.cpp' \
	  --exclude-throw-branches -j $(JOBS) --html-details build-coverage/pages/index.html --print-summary
	@echo "$(CURDIR)/build-coverage/pages/index.html"

# Git looks at every commit as .pre-commit-config.yaml says.
hooks:
	@scripts/setup.sh --test
	@.venv/bin/pip install --quiet --disable-pip-version-check pre-commit==4.7.0
	@.venv/bin/pre-commit install

# PREFIX=… installs somewhere else than /usr/local.
install: build
	@cmake --install $(BUILD) $(if $(PREFIX),--prefix $(PREFIX))

# dist/ghhost-….whl, for `pip install`; a Debian package and a tarball with LibTorch in them. docs/install.md has what they are for.
wheel: build
	@scripts/setup.sh --wheel
	@packaging/wheel/pack.sh $(BUILD) dist .venv/bin/python
packages: build
	@cpack --config $(BUILD)/CPackConfig.cmake -B $(BUILD)/packages && rm -rf $(BUILD)/packages

bench: build
	@bench/startup.py
	@bench/views.py
	@bench/step.py
	@bench/methods.py
	@bench/harmonize.py
	@bench/sinkhorn.py
	@bench/kmeans.py
	@bench/tsne.py
	@bench/structures.py
	@bench/convolution.py
	@bench/structures.py --peer-steps 0
	@bench/ddp.py
	@bench/busy.py
	@if [ -n "$$GH_CIFAR100" ]; then bench/end_to_end.py; else echo "bench/end_to_end.py left out: GH_CIFAR100 names no CIFAR-100"; fi

clean:
	@rm -rf build build-asan build-tsan build-fuzz build-cuda build-tidy build-coverage
