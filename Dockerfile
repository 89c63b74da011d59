# mixedsched with Chromium and Node inside; docs/container.md tells how to use it.
#
# BASE is Debian 13 or newer, or what you have made of it, for instance with the certificates and mirrors of your network.
ARG BASE=debian:trixie-slim

# What pages are measured with. Without a font they would have no text; tini buries the processes that Chromium leaves behind.
FROM ${BASE} AS runtime
RUN apt-get update \
    && apt-get install --yes --no-install-recommends chromium fonts-liberation nodejs python3 tini \
    && apt-get clean && rm -rf /var/lib/apt/lists/*

# What only installing takes.
FROM runtime AS install
RUN apt-get update \
    && apt-get install --yes --no-install-recommends npm python3-venv \
    && apt-get clean && rm -rf /var/lib/apt/lists/*
WORKDIR /source
# The libraries by themselves: a change of our own code does not fetch them again.
COPY pyproject.toml requirements.lock ./
RUN python3 -m venv /opt/mixedsched \
    && python3 -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' > needed \
    && /opt/mixedsched/bin/pip install --no-cache-dir --constraint requirements.lock --requirement needed
COPY . .
RUN /opt/mixedsched/bin/pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
    && /opt/mixedsched/bin/pip install --no-cache-dir --no-deps /wheels/*.whl
# The runner's Node packages and the contents of the sites that are made of npm packages; agency is built in passing.
ENV XDG_CACHE_HOME=/opt/cache
RUN /opt/mixedsched/bin/mixedsched setup \
    && /opt/mixedsched/bin/mixedsched sites agency \
    && chmod --recursive a+rwX $XDG_CACHE_HOME

FROM runtime
# Run as any other user it works just as well: home, cache and working folder can be written by everybody.
RUN useradd --home-dir /tmp mixedsched && install --directory --mode=1777 /work
COPY --from=install /opt/cache /opt/cache
COPY --from=install /opt/mixedsched /opt/mixedsched
ENV PATH=/opt/mixedsched/bin:$PATH \
    HOME=/tmp \
    LANG=C.UTF-8 \
    XDG_CACHE_HOME=/opt/cache \
    MIXEDSCHED_SANDBOX=if-possible
USER mixedsched
WORKDIR /work
VOLUME /work
ENTRYPOINT ["tini", "--", "mixedsched"]
CMD ["--help"]
