/** Reads which subscriptions there are, from the JSON file of MEGURI_EVENT_SUBSCRIPTIONS. */
import { isAbsolute } from "node:path";
import { z } from "zod";
import { Personal } from "../../gen/meguri/access/v1/access_pb.ts";
import { definitionName, programId, readDefinitions } from "../../platform/objects/definitions.ts";
import type { Subscription } from "../ports/deliveries.ts";
import { eventTypes } from "../rules/event-types.ts";
import { nearestType } from "../use-cases/event-types.ts";
import { isPrivateAddress } from "./addresses.ts";

/** The texts of people, as definitions name them. */
const personal = {
  reason: Personal.REASON,
  display_name: Personal.DISPLAY_NAME,
  text: Personal.TEXT,
};

const unique = (values: readonly string[]): boolean => new Set(values).size === values.length;

/** A list of different values, or all there are and will be. */
const allOr = <T extends z.ZodType<string>>(value: T) =>
  z.union([z.literal("all"), z.array(value).min(1).refine(unique, "has a value twice")], {
    error: (issue) => {
      if (issue.code !== "invalid_union") return undefined;
      const [, ofList = []] = issue.errors;
      const ofValue = ofList.find(({ path }) => path.length > 0);
      return ofValue?.message ?? `"all", or a list of values`;
    },
  });

const eventType = z.enum(eventTypes, {
  error: ({ input }) => `no type of events; the nearest is ${nearestType(String(input))}`,
});

/** The fields of every subscription. */
const subscription = {
  name: definitionName,
  types: allOr(eventType),
  programs: allOr(programId),
  /** The texts of people that the events have: none by default. */
  include: z
    .array(z.enum(Object.keys(personal) as (keyof typeof personal)[]))
    .refine(unique, "has a value twice")
    .optional(),
  /** Where it begins when it is new: "now" by default. */
  start: z.enum(["now", "oldest"]).optional(),
};

const file = z.string().refine(isAbsolute, "has to be absolute");

/** A web hook, signed as Standard Webhooks say. */
const http = z.strictObject({
  ...subscription,
  type: z.literal("http"),
  url: z.url({ protocol: /^https?$/ }),
  /** Each has a secret, and each event is signed by both, so that a receiver can change its own. */
  secret_files: z.array(file).min(1).max(2),
  /** Permits http and addresses of private networks and of this machine. */
  allow_private: z.boolean().optional(),
});

const endpoint = z.url({ protocol: /^https?$/ });

/** The fields of AWS's services. */
const aws = {
  region: z.string().min(1),
  /** Another address than that of the region, such as a VPC endpoint. */
  endpoint: endpoint.optional(),
};

const eventbridge = z.strictObject({
  ...subscription,
  ...aws,
  type: z.literal("eventbridge"),
  /** Name or ARN of the event bus. */
  bus: z.string().min(1).max(1_600),
});

const sqs = z.strictObject({
  ...subscription,
  ...aws,
  type: z.literal("sqs"),
  queue_url: endpoint.regex(/\.fifo$/, "not the URL of a FIFO queue, which ends with .fifo"),
});

const sns = z.strictObject({
  ...subscription,
  ...aws,
  type: z.literal("sns"),
  topic_arn: z
    .string()
    .regex(/^arn:[^:]+:sns:\S+\.fifo$/, "not the ARN of a FIFO topic, which ends with .fifo"),
});

const definition = z
  .discriminatedUnion("type", [http, eventbridge, sqs, sns], {
    error: ({ code }) =>
      code === "invalid_union" ? "one of http, eventbridge, sqs and sns" : undefined,
  })
  .superRefine((value, context) => {
    if (value.type !== "http" || !URL.canParse(value.url)) return;
    const refuse = (message: string) =>
      context.addIssue({ code: "custom", message, path: ["url"] });
    const { protocol, username, password, hostname } = new URL(value.url);
    if (username !== "" || password !== "") refuse("has credentials; the signature replaces them");
    if (value.allow_private) return;
    if (protocol !== "https:") refuse("has to be https, unless allow_private is true");
    if (isPrivateAddress(hostname)) refuse("is a private address, and allow_private is not true");
  });

/** One configured subscription. */
export type SubscriptionDefinition = z.output<typeof definition>;

/** The fields of the subscriptions of one type. */
export type DefinitionOf<T extends SubscriptionDefinition["type"]> = Extract<
  SubscriptionDefinition,
  { readonly type: T }
>;

/** Which events it gets. */
export const subscriptionOf = (definition: SubscriptionDefinition): Subscription => ({
  name: definition.name,
  filter: {
    types: definition.types === "all" ? [] : definition.types,
    programIds: definition.programs === "all" ? undefined : definition.programs,
  },
  include: (definition.include ?? []).map((text) => personal[text]),
  start: definition.start ?? "now",
});

/** Returns the configured subscriptions, as readDefinitions does. */
export const readSubscriptionDefinitions = (
  path: string | undefined,
): readonly SubscriptionDefinition[] => readDefinitions(path, "subscriptions", definition);
