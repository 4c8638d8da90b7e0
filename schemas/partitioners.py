"""How each common Kafka client is told to put a tenant's commands where Afterturn expects them.

A command's key must hash to its partition with murmur2, as the Java client does it: (murmur2(key) & 0x7fffffff) modulo
the partitions. What lands elsewhere would break its tenant's order, and is dead-lettered as ``misrouted``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClientSetting:
    """What a client needs. An empty ``setting`` means that its default is right."""

    client: str
    setting: str
    note: str


_LIBRDKAFKA = "its default, consistent_random, is CRC-32"

CLIENTS: tuple[ClientSetting, ...] = (
    ClientSetting(
        "Java client, Kafka Streams, Kafka Connect, Spring for Apache Kafka",
        "",
        "leave partitioner.class and partitioner.ignore.keys unset",
    ),
    ClientSetting("afterturn, aiokafka, kafka-python (Python)", "", "DefaultPartitioner is murmur2"),
    ClientSetting(
        "confluent-kafka-python", 'Producer({"partitioner": "murmur2_random", …})', f"librdkafka: {_LIBRDKAFKA}"
    ),
    ClientSetting("librdkafka (C, C++)", "partitioner=murmur2_random", _LIBRDKAFKA),
    ClientSetting("kcat", "-X topic.partitioner=murmur2_random", f"librdkafka: {_LIBRDKAFKA}"),
    ClientSetting(
        "confluent-kafka-go", 'kafka.ConfigMap{"partitioner": "murmur2_random", …}', f"librdkafka: {_LIBRDKAFKA}"
    ),
    ClientSetting(
        "franz-go (Go)",
        "",
        "keys are hashed with murmur2; if you set one, kgo.StickyKeyPartitioner(nil): a nil hasher is Kafka's own, "
        "SaramaHasher and SaramaCompatHasher are not",
    ),
    ClientSetting(
        "Sarama (Go)",
        "config.Producer.Partitioner = sarama.NewMurmur2Partitioner",
        "its default is FNV-1a; releases before May 2026 lack it and take NewCustomPartitioner(WithAbsFirst(), "
        "WithCustomHashFunction(…)) with a murmur2 of your own: NewCustomHashPartitioner treats the sign differently",
    ),
    ClientSetting(
        "segmentio/kafka-go (Go)",
        "kafka.Writer{Balancer: kafka.Murmur2Balancer{Consistent: true}, …}",
        "its default, round robin, ignores keys; Hash is FNV-1a, CRC32Balancer is librdkafka's default",
    ),
    ClientSetting(
        "KafkaJS (Node)",
        "kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })",
        "the default since 2.0 (LegacyPartitioner is not compatible); in 1.8 to 1.16 JavaCompatiblePartitioner",
    ),
    ClientSetting(
        "@confluentinc/kafka-javascript (Node)",
        "partitioner: 'murmur2_random', outside the kafkaJS block",
        "already the default of its KafkaJS interface; its node-rdkafka interface is set as node-rdkafka",
    ),
    ClientSetting(
        "node-rdkafka (Node)",
        "new Kafka.Producer(config, { partitioner: 'murmur2_random' })",
        f"the second argument, the topic's configuration; librdkafka: {_LIBRDKAFKA}",
    ),
    ClientSetting(
        "Confluent.Kafka (.NET)",
        "new ProducerConfig { Partitioner = Partitioner.Murmur2Random, … }",
        f"librdkafka: {_LIBRDKAFKA}",
    ),
    ClientSetting(
        "rdkafka (Rust)", 'ClientConfig::new().set("partitioner", "murmur2_random")', f"librdkafka: {_LIBRDKAFKA}"
    ),
    ClientSetting(
        "rdkafka-ruby, WaterDrop, Karafka (Ruby)",
        'partitioner: "murmur2_random"',
        f"give the tenant as key, not as partition_key; librdkafka: {_LIBRDKAFKA}",
    ),
    ClientSetting(
        "ruby-kafka (Ruby)",
        "Kafka.new(partitioner: Kafka::Partitioner.new(hash_function: :murmur2), …)",
        "its default is CRC-32",
    ),
    ClientSetting(
        "php-rdkafka (PHP)",
        "$topicConf->setPartitioner(RD_KAFKA_MSG_PARTITIONER_MURMUR2_RANDOM)",
        f"librdkafka: {_LIBRDKAFKA}",
    ),
    ClientSetting("kafka_ex (Elixir)", "", "the default since 1.0; Partitioner.Legacy masks the hash differently"),
    ClientSetting(
        "brod (Erlang)", "a partitioner function of your own", "its hash partitioner is erlang:phash2; no murmur2 ships"
    ),
)
"""Each client and its setting, in the order they are shown."""


def markdown_table() -> str:
    """The settings as the contract's page shows them."""
    rows = [f"| {c.client} | {f'`{c.setting}`' if c.setting else 'nothing'} | {c.note} |" for c in CLIENTS]
    return "\n".join(("| client | setting | |", "| --- | --- | --- |", *rows))
