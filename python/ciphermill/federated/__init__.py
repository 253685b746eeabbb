"""Training between parties that run in separate processes, over gRPC with certificates on both sides."""

try:
    import grpc  # noqa: F401
except ImportError as error:
    raise ImportError('federated training needs grpcio; install it with pip install "ciphermill[federated]"') from error
