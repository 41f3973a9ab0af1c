/** The streams of one table as DynamoDB Streams keeps them, which a test splits and trims. */
import { createHash, randomUUID } from "node:crypto";
import type { AttributeValue } from "@aws-sdk/client-dynamodb";

type Image = Readonly<Record<string, AttributeValue>>;

/** A change as a test makes it. */
export interface FakeChange {
  readonly keys: Image;
  readonly before?: Image | undefined;
  readonly after?: Image | undefined;
  /** In ms, cut to seconds; now by default. */
  readonly time?: number | undefined;
  /** Whether it is a deletion by the time to live. */
  readonly isExpiry?: boolean | undefined;
}

interface StoredChange extends FakeChange {
  readonly sequence: string;
  readonly time: number;
}

interface Shard {
  readonly id: string;
  readonly parent: string | undefined;
  readonly start: string;
  changes: StoredChange[];
  /** The highest sequence number that was trimmed; empty before the first one. */
  trimmed: string;
  end: string | undefined;
}

interface Stream {
  readonly arn: string;
  readonly label: string;
  shards: Shard[];
  isEnabled: boolean;
}

/** An error as the service answers it. */
export class Refusal extends Error {
  readonly status: number;
  readonly type: string;

  constructor(type: string, message: string, status = 400) {
    super(message);
    this.type = type;
    this.status = status;
  }
}

const streamsError = (name: string, message: string) =>
  new Refusal(`com.amazonaws.dynamodb.v20120810#${name}`, message);
export const invalid = (message: string) =>
  new Refusal("com.amazon.coral.validate#ValidationException", message);
const trimmedError = () =>
  streamsError("TrimmedDataAccessException", "The operation attempted to read trimmed data.");

/** The input of a request for an iterator. */
interface IteratorInput {
  readonly StreamArn: string;
  readonly ShardId: string;
  readonly ShardIteratorType: string;
  readonly SequenceNumber?: string;
}

const region = "ddblocal";
const maxRecords = 1_000;
const maxBytes = 1_048_576;
/** More readers of a shard at the same moment are throttled, as AWS documents. */
const maxReaders = 2;

const sequenceOf = (number: number) => String(number).padStart(21, "0");

export class FakeStream {
  readonly #table: string;
  readonly #shardsOfPage: number;
  readonly #streams: Stream[] = [];
  readonly #readers = new Map<string, number>();
  #lastSequence = 0;
  /** Iterators of an earlier epoch have expired. */
  #epoch = 0;
  #isHidden = false;

  constructor(table: string, shardsOfPage: number) {
    this.#table = table;
    this.#shardsOfPage = shardsOfPage;
    this.recreate();
  }

  /** The ids of the shards that are listed. */
  get shards(): readonly string[] {
    return this.#latest.shards.map(({ id }) => id);
  }

  /** Writes into an open shard, and returns the sequence number. */
  write(id: string, change: FakeChange): string {
    const shard = this.#shard(id);
    if (shard.end !== undefined) throw new Error(`${id} has ended`);
    this.#lastSequence += 1;
    const sequence = sequenceOf(this.#lastSequence);
    shard.changes.push({ ...change, sequence, time: change.time ?? Date.now() });
    return sequence;
  }

  /** Ends a shard, and begins as many children. */
  split(id: string, count: number): readonly string[] {
    this.#end(this.#shard(id));
    return Array.from({ length: count }, () => this.#begin(this.#latest, id));
  }

  /** Trims the oldest records of a shard, up to a sequence number, or all. */
  trim(id: string, upTo?: string): void {
    const shard = this.#shard(id);
    const last = upTo ?? shard.changes.at(-1)?.sequence ?? shard.trimmed;
    shard.changes = shard.changes.filter(({ sequence }) => sequence > last);
    shard.trimmed = last;
  }

  /** Trims a shard with all its records, and does not list it any more. */
  remove(id: string): void {
    this.#latest.shards = this.#latest.shards.filter((shard) => shard.id !== id);
  }

  /** Lets every iterator expire that was given so far. */
  expireIterators(): void {
    this.#epoch += 1;
  }

  /** Ends the stream, and begins another one with one shard, whose id is returned. */
  recreate(): string {
    if (this.#streams.length > 0) this.disable();
    const label = new Date(Date.now() + this.#streams.length).toISOString().slice(0, -1);
    const arn = `arn:aws:dynamodb:${region}:000000000000:table/${this.#table}/stream/${label}`;
    const stream = { arn, label, shards: [], isEnabled: true };
    this.#streams.push(stream);
    return this.#begin(stream);
  }

  /** Switches the stream off, which ends its shards. */
  disable(): void {
    this.#latest.isEnabled = false;
    for (const shard of this.#latest.shards) this.#end(shard);
  }

  /** Lets the table have no stream, or have it again. */
  hide(isHidden: boolean): void {
    this.#isHidden = isHidden;
  }

  describeTable(): object {
    const { arn, isEnabled } = this.#latest;
    const StreamSpecification = { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" };
    const stream = { LatestStreamArn: arn, ...(isEnabled && { StreamSpecification }) };
    return { Table: { TableName: this.#table, ...(!this.#isHidden && stream) } };
  }

  describeStream(input: { StreamArn: string; ExclusiveStartShardId?: string }): object {
    const { arn, label, isEnabled, shards } = this.#stream(
      input.StreamArn,
      `Requested resource not found: Stream: ${input.StreamArn} not found`,
    );
    const first = 1 + shards.findIndex(({ id }) => id === input.ExclusiveStartShardId);
    const page = shards.slice(first, first + this.#shardsOfPage);
    const isLast = first + this.#shardsOfPage >= shards.length;
    return {
      StreamDescription: {
        StreamArn: arn,
        StreamLabel: label,
        StreamStatus: isEnabled ? "ENABLED" : "DISABLED",
        StreamViewType: "NEW_AND_OLD_IMAGES",
        CreationRequestDateTime: Date.parse(`${label}Z`) / 1_000,
        TableName: this.#table,
        KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }],
        Shards: page.map(shownShard),
        ...(!isLast && { LastEvaluatedShardId: page.at(-1)?.id }),
      },
    };
  }

  getShardIterator(input: IteratorInput): object {
    const { StreamArn, ShardId, ShardIteratorType, SequenceNumber: sequence } = input;
    const { trimmed } = this.#shard(ShardId, this.#stream(StreamArn, "Stream does not exist"));
    if (ShardIteratorType === "TRIM_HORIZON") {
      return { ShardIterator: this.#iterator(StreamArn, ShardId, trimmed) };
    }
    if (sequence === undefined) {
      throw invalid("One or more parameter values were invalid: Invalid SequenceNumber");
    }
    if (sequence <= trimmed) throw trimmedError();
    return { ShardIterator: this.#iterator(StreamArn, ShardId, sequence) };
  }

  async getRecords(input: { ShardIterator: string; Limit?: number }): Promise<object> {
    const [arn = "", epoch, id = "", after = ""] = input.ShardIterator.split("|");
    const stream = this.#streams.find((each) => each.arn === arn);
    if (!stream) throw invalid("Invalid ShardIterator");
    const { Limit = maxRecords } = input;
    if (Limit > maxRecords) {
      throw invalid(
        "One or more parameter values were invalid: Limit should be less than or equal to 1000",
      );
    }
    await this.#readAlone(id);
    if (Number(epoch) < this.#epoch) {
      throw streamsError("ExpiredIteratorException", "Iterator expired");
    }
    const shard = this.#shard(id, stream);
    if (after < shard.trimmed) throw trimmedError();
    const page = pageOf(
      shard.changes.filter(({ sequence }) => sequence > after),
      Limit,
    );
    const last = page.at(-1)?.sequence ?? after;
    const isOver = shard.end !== undefined && !shard.changes.some((each) => each.sequence > last);
    const next = { NextShardIterator: this.#iterator(arn, id, last) };
    return { Records: page.map(shownChange), ...(!isOver && next) };
  }

  /** Waits a moment, as a request does, and refuses one of too many readers. */
  async #readAlone(id: string): Promise<void> {
    const count = (this.#readers.get(id) ?? 0) + 1;
    if (count > maxReaders) {
      throw streamsError("LimitExceededException", "There are too many readers of this shard");
    }
    this.#readers.set(id, count);
    await new Promise((resolve) => setImmediate(resolve));
    this.#readers.set(id, (this.#readers.get(id) ?? 1) - 1);
  }

  get #latest(): Stream {
    return this.#streams.at(-1) as Stream;
  }

  #stream(arn: string, message: string): Stream {
    const stream = this.#streams.find((each) => each.arn === arn);
    if (!stream) throw streamsError("ResourceNotFoundException", message);
    return stream;
  }

  #shard(id: string, { shards } = this.#latest): Shard {
    const shard = shards.find((each) => each.id === id);
    if (!shard) throw streamsError("ResourceNotFoundException", "Shard does not exist");
    return shard;
  }

  #begin({ shards }: Stream, parent?: string): string {
    const id = `shardId-${String(Date.now()).padStart(20, "0")}-${randomUUID().slice(0, 8)}`;
    const start = sequenceOf(this.#lastSequence + 1);
    shards.push({ id, parent, start, changes: [], trimmed: "", end: undefined });
    return id;
  }

  #end(shard: Shard): void {
    shard.end ??= sequenceOf(this.#lastSequence);
  }

  #iterator = (arn: string, id: string, after: string) => `${arn}|${this.#epoch}|${id}|${after}`;
}

/** The changes that fit into an answer. */
function pageOf(changes: readonly StoredChange[], limit: number): readonly StoredChange[] {
  let bytes = 0;
  const end = changes.findIndex((change, i) => {
    bytes += JSON.stringify(shownChange(change)).length;
    return i === limit || (i > 0 && bytes > maxBytes);
  });
  return end < 0 ? changes : changes.slice(0, end);
}

const shownShard = ({ id, parent, start, end }: Shard) => ({
  ShardId: id,
  SequenceNumberRange: {
    StartingSequenceNumber: start,
    ...(end !== undefined && { EndingSequenceNumber: end }),
  },
  ...(parent !== undefined && { ParentShardId: parent }),
});

function shownChange({ keys, before, after, sequence, time, isExpiry }: StoredChange): object {
  const changed = before === undefined ? "INSERT" : "MODIFY";
  return {
    eventID: createHash("md5").update(sequence).digest("hex"),
    eventName: after === undefined ? "REMOVE" : changed,
    eventVersion: "1.1",
    eventSource: "aws:dynamodb",
    awsRegion: region,
    dynamodb: {
      ApproximateCreationDateTime: Math.floor(time / 1_000),
      Keys: keys,
      ...(after && { NewImage: after }),
      ...(before && { OldImage: before }),
      SequenceNumber: sequence,
      SizeBytes: JSON.stringify({ before, after }).length,
      StreamViewType: "NEW_AND_OLD_IMAGES",
    },
    ...(isExpiry && {
      userIdentity: { PrincipalId: "dynamodb.amazonaws.com", Type: "Service" },
    }),
  };
}
