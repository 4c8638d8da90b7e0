"""The contract as documents: JSON Schemas and an AsyncAPI document, generated from the models."""

from afterturn.schemas.documents.asyncapi import asyncapi
from afterturn.schemas.documents.files import check, write
from afterturn.schemas.documents.json_schema import json_schemas

__all__ = ("asyncapi", "check", "json_schemas", "write")
