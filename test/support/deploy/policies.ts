/** Reads the policies of deploy/policies, and says what each role may do. */
import { readFileSync } from "node:fs";

const folder = `${import.meta.dirname}/../../../deploy/policies`;

/** The policies of each role. Those of sources and exports are for deployments with S3. */
export const policies = {
  server: ["server"],
  worker: ["worker", "worker-sources", "worker-exports"],
  setup: ["setup"],
  restore: ["restore"],
} as const;

export type Role = keyof typeof policies;

interface Statement {
  readonly Sid: string;
  readonly Effect: string;
  readonly Action: readonly string[];
  readonly Resource: readonly string[];
  readonly Condition?: unknown;
}

/** The statements of a policy by the name of its file. */
export function statementsOf(name: string): readonly Statement[] {
  return JSON.parse(readFileSync(`${folder}/${name}.json`, "utf8")).Statement;
}

const parts = `arn:\${Partition}:`;
const table = `${parts}dynamodb:\${Region}:\${Account}:table/\${Prefix}`;
const bucket = `${parts}s3:::\${Bucket}`;

/**
 * What a policy allows, as `dynamodb:Query points/index/expiry`, without the parameters.
 *
 * @throws Error for a resource that is no table, index or bucket by the parameters.
 */
export const allowedBy = (name: string): string[] =>
  statementsOf(name).flatMap(({ Action, Resource }) =>
    Resource.flatMap((resource) => Action.map((action) => `${action} ${relative(resource)}`)),
  );

/** What all policies of a role allow. */
export const allowedTo = (role: Role): ReadonlySet<string> =>
  new Set(policies[role].flatMap(allowedBy));

function relative(resource: string): string {
  for (const start of [table, bucket]) {
    if (resource.startsWith(start)) return resource.slice(start.length);
  }
  throw new Error(`${resource} does not begin with the parameters`);
}
