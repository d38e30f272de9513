# The dashboard over /logs, as a plain user: docs/tasks/in_docker.md says how to run it.
FROM python:3.13-slim AS wheels
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels ./core .

FROM python:3.13-slim
# The second installation finds the first, and adds what the extras need.
# hadolint ignore=DL3013
RUN --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    pip install --no-cache-dir /wheels/*.whl \
    && pip install --no-cache-dir "stepscope[hdf5,remote,scikit-learn]" \
    && useradd --create-home --uid 1000 stepscope \
    && install --directory --owner stepscope /logs
USER 1000
WORKDIR /logs
# As the user who will run it, so that the compiled loops are found.
RUN stepscope warm-up
EXPOSE 6006
HEALTHCHECK --start-period=30s CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://localhost:6006/healthz', timeout=3)"]
ENTRYPOINT ["stepscope"]
# On every interface of the container, so a token is asked for: STEPSCOPE_TOKEN, or the one that the start prints.
CMD ["serve", "--logdir", "/logs", "--host", "0.0.0.0"]
