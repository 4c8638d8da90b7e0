"""The OpenAPI document of the service, made of the contract's own schemas."""

from afterturn.consumers.recall.web.documenting.document import document as document
