/** Reads the policies of deploy/policies, and says what each role may do. */
import { readFileSync } from "node:fs";

const folder = `${import.meta.dirname}/../../../deploy/policies`;

/**
 * The policies of each role. Those of sources and exports are for deployments with S3, and those of
 * destinations for subscriptions with SQS, SNS or EventBridge.
 */
export const policies = {
  server: ["server"],
  worker: ["worker", "worker-sources", "worker-exports"],
  events: ["events", "events-destinations"],
  setup: ["setup"],
  restore: ["restore"],
} as const;

export type Role = keyof typeof policies;

/** The only condition that policies may have, because no other one is evaluated here. */
interface Condition {
  readonly "ForAllValues:StringLike": { readonly "dynamodb:LeadingKeys": readonly string[] };
}

interface Statement {
  readonly Sid: string;
  readonly Effect: string;
  readonly Action: readonly string[];
  readonly Resource: readonly string[];
  readonly Condition?: Condition;
}

/** The statements of a policy by the name of its file. */
export function statementsOf(name: string): readonly Statement[] {
  return JSON.parse(readFileSync(`${folder}/${name}.json`, "utf8")).Statement;
}

const parts = `arn:\${Partition}:`;
const table = `${parts}dynamodb:\${Region}:\${Account}:table/\${Prefix}`;
const bucket = `${parts}s3:::\${Bucket}`;
const ofRegion = (service: string) => `${parts}${service}:\${Region}:\${Account}:`;
const queue = `${ofRegion("sqs")}\${Queue}`;
const topic = `${ofRegion("sns")}\${Topic}`;
const bus = `${ofRegion("events")}event-bus/\${Bus}`;

/**
 * What a policy allows, as `dynamodb:Query points/index/expiry`, without the parameters.
 *
 * @throws Error for a resource that does not begin with the parameters of a table, bucket or
 * destination.
 */
export const allowedBy = (name: string): string[] => statementsOf(name).flatMap(accessesOf);

const accessesOf = ({ Action, Resource }: Statement): string[] =>
  Resource.flatMap((resource) => Action.map((action) => `${action} ${relative(resource)}`));

/** What all policies of a role allow, whatever their conditions. */
export const allowedTo = (role: Role): ReadonlySet<string> =>
  new Set(policies[role].flatMap(allowedBy));

/** Whether an access to items with these partition keys is allowed. */
type IsAllowed = (access: string, leadingKeys: readonly string[]) => boolean;

/** Evaluates the policies of some roles, with their conditions. */
export function evaluate(roles: readonly Role[]): IsAllowed {
  const conditions = new Map<string, (keys: readonly string[]) => boolean>();
  const statements = roles.flatMap((role) => policies[role]).flatMap(statementsOf);
  for (const statement of statements) {
    const holds = conditionOf(statement);
    for (const access of accessesOf(statement)) {
      const before = conditions.get(access);
      conditions.set(access, (keys) => before?.(keys) || holds(keys));
    }
  }
  return (access, leadingKeys) => conditions.get(access)?.(leadingKeys) ?? false;
}

/** As with IAM, a condition for all values holds of a request without one. */
function conditionOf({ Condition }: Statement): (keys: readonly string[]) => boolean {
  if (Condition === undefined) return () => true;
  const patterns = Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"];
  const starts = patterns.map((pattern) => {
    const [, start] = /^([^*?]+)\*$/.exec(pattern) ?? [];
    if (start === undefined) throw new Error(`${pattern} is not the start of a key`);
    return start;
  });
  return (keys) => keys.every((key) => starts.some((start) => key.startsWith(start)));
}

function relative(resource: string): string {
  for (const start of [table, bucket, queue, topic, bus]) {
    if (resource.startsWith(start)) return resource.slice(start.length);
  }
  throw new Error(`${resource} does not begin with the parameters`);
}
