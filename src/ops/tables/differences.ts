/** Compares tables with their definitions, part by part. */
import type {
  AttributeDefinition,
  GlobalSecondaryIndexDescription,
  KeySchemaElement,
  TableDescription,
} from "@aws-sdk/client-dynamodb";
import type { TableDefinition } from "./definitions.ts";

/** A table as DynamoDB describes it. */
export interface FoundTable {
  readonly description: TableDescription;
  readonly ttlAttribute: string | undefined;
  /** Undefined: the store does not know such backups. */
  readonly hasPointInTimeRecovery: boolean | undefined;
}

export interface Difference {
  readonly table: string;
  /** Such as `the index expiry`. */
  readonly part: string;
  readonly is: string;
  readonly shouldBe: string;
  /** Whether this version does not work, or deletes what it should not, until that is changed. */
  readonly isBreaking: boolean;
}

export const lineOf = ({ table, part, is, shouldBe }: Difference): string =>
  `${table}: ${part} is ${is}, and should be ${shouldBe}`;

/** Whether the setup creates or adds the missing part. It adds no local index to a table. */
export const isMendedBySetup = ({ part, is, shouldBe }: Difference): boolean =>
  is === "off" ? part === ttlPart : is === "missing" && !shouldBe.startsWith("local");

/** The parts of a table, such as `the key`, as texts that can be compared. */
type Parts = ReadonlyMap<string, string>;

/** The differences between a table and its definition, one of them if it does not exist. */
export function differencesOf(
  definition: TableDefinition,
  found: FoundTable | undefined,
): Difference[] {
  const table = definition.create.TableName;
  if (found === undefined) {
    return [{ table, part: "the table", is: "missing", shouldBe: "there", isBreaking: true }];
  }
  const wanted = partsOfDefinition(definition);
  const actual = partsOfTable(found);
  const differences: Difference[] = [];
  for (const [part, shouldBe] of wanted) {
    const is = actual.get(part) ?? (isIndex(part) ? "missing" : undefined);
    // The store does not know a part that it does not describe, such as backups.
    if (is === undefined || is === shouldBe) continue;
    differences.push({ table, part, is, shouldBe, isBreaking: isNeeded(part) });
  }
  // Every write pays for an index, also for one that is not used.
  for (const [part, is] of actual) {
    if (!isIndex(part) || wanted.has(part)) continue;
    differences.push({ table, part, is, shouldBe: "absent", isBreaking: false });
  }
  return differences;
}

const keyPart = "the key";
const ttlPart = "time to live";
const indexPart = (name = ""): string => `the index ${name}`;
const isIndex = (part: string): boolean => part.startsWith(indexPart());

/** Whether this version needs the part as it is defined. */
const isNeeded = (part: string): boolean => [keyPart, ttlPart].includes(part) || isIndex(part);

const onOff = (isOn = false): string => (isOn ? "on" : "off");

function partsOfDefinition({ create, ...definition }: TableDefinition): Parts {
  const { StreamSpecification: stream, DeletionProtectionEnabled: isProtected } = create;
  const parts = layoutOf(create as TableDescription, definition.ttlAttribute);
  if (stream !== undefined) parts.set("the stream", stream.StreamViewType ?? "off");
  if (isProtected !== undefined) parts.set("deletion protection", onOff(isProtected));
  const { hasPointInTimeRecovery: hasBackups } = definition;
  if (hasBackups !== undefined) parts.set("point-in-time recovery", onOff(hasBackups));
  return parts;
}

function partsOfTable({ description, ...found }: FoundTable): Parts {
  const { StreamSpecification: stream, DeletionProtectionEnabled: isProtected } = description;
  const parts = layoutOf(description, found.ttlAttribute);
  parts.set("the stream", stream?.StreamViewType ?? "off");
  parts.set("deletion protection", onOff(isProtected));
  const { hasPointInTimeRecovery: hasBackups } = found;
  if (hasBackups !== undefined) parts.set("point-in-time recovery", onOff(hasBackups));
  return parts;
}

/** The key, the indexes and the time to live of a table. */
function layoutOf(description: TableDescription, ttlAttribute: string | undefined) {
  const { AttributeDefinitions: types = [], KeySchema: key } = description;
  const parts = new Map([[keyPart, keyText(key, types)]]);
  for (const index of description.GlobalSecondaryIndexes ?? []) {
    parts.set(indexPart(index.IndexName), `global, ${indexText(index, types)}`);
  }
  for (const index of description.LocalSecondaryIndexes ?? []) {
    parts.set(indexPart(index.IndexName), `local, ${indexText(index, types)}`);
  }
  return parts.set(ttlPart, ttlAttribute === undefined ? "off" : `by ${ttlAttribute}`);
}

function keyText(
  key: readonly KeySchemaElement[] = [],
  types: readonly AttributeDefinition[],
): string {
  const typeOf = (name?: string) => types.find((each) => each.AttributeName === name);
  const text = ({ AttributeName: name, KeyType: role }: KeySchemaElement) =>
    `${role} ${name} (${typeOf(name)?.AttributeType})`;
  return key.map(text).join(", ");
}

function indexText(
  { KeySchema: key, Projection, IndexStatus = "ACTIVE" }: GlobalSecondaryIndexDescription,
  types: readonly AttributeDefinition[],
): string {
  const { ProjectionType, NonKeyAttributes = [] } = Projection ?? {};
  const attributes = NonKeyAttributes.map((name) => ` ${name}`).toSorted();
  const status = IndexStatus === "ACTIVE" ? "" : `, ${IndexStatus}`;
  return `${keyText(key, types)}, projection ${ProjectionType}${attributes.join("")}${status}`;
}
