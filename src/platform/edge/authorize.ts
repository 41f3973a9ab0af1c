/** Enforces what the contract declares: the scope of each method, and the limits of a token. */
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  getOption,
  isFieldSet,
  type Message,
} from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import type { Interceptor } from "@connectrpc/connect";
import { field_scope, Role, role, scope } from "../../gen/meguri/access/v1/access_pb.ts";
import type { Identity } from "../ports/identity.ts";
import type { TargetOwners } from "../ports/target-owners.ts";
import { DomainError } from "../words/errors.ts";
import { toProgramId } from "../words/program-ids.ts";
import type { TargetName } from "../words/target-name.ts";
import { identityOf } from "./context.ts";

/**
 * The fields that name something in a request, the fields that lead to such fields, and those that
 * take a scope of their own.
 */
interface NamingFields {
  readonly named: readonly { readonly field: DescField; readonly role: Role }[];
  readonly scoped: readonly { readonly field: DescField; readonly scope: string }[];
  readonly nested: readonly DescField[];
}

/** Lets a call pass if its caller may use what the request names. Throws PERMISSION_DENIED. */
export function authorize(owners: TargetOwners): Interceptor {
  return (next) => async (req) => {
    const identity = identityOf(req.contextValues);
    const { scoped } = namingFields(req.method.input);
    if (!isLimited(identity) && scoped.length === 0) return next(req);
    const check = (message: Message) => requireLimits(identity, req.method, message, owners);
    if (req.stream) return next({ ...req, message: checkEach(req.message, check) });
    await check(req.message);
    return next(req);
  };
}

/**
 * Requires that the caller may use what a request names, and has the scopes of the fields that are
 * set. Throws PERMISSION_DENIED.
 */
export async function requireLimits(
  identity: Identity,
  { input }: DescMethod,
  request: Message,
  owners: TargetOwners,
): Promise<void> {
  const { scoped } = namingFields(input);
  for (const { field, scope } of scoped) {
    if (isFieldSet(request, field)) requireOneScope(identity, scope);
  }
  if (isLimited(identity)) await requireWithinLimits(identity, reflect(input, request), owners);
}

async function* checkEach<T extends Message>(
  messages: AsyncIterable<T>,
  check: (message: T) => Promise<void>,
): AsyncGenerator<T, void> {
  for await (const message of messages) {
    await check(message);
    yield message;
  }
}

/** The scopes of the methods: to read an option takes longer than all the rest of the check. */
const requiredScopes = new WeakMap<DescMethod, string>();

function scopeOf(method: DescMethod): string {
  const known = requiredScopes.get(method);
  if (known !== undefined) return known;
  const found = getOption(method, scope);
  requiredScopes.set(method, found);
  return found;
}

/**
 * Requires that the caller has the method's scope. A method without a scope is for nobody. Throws
 * PERMISSION_DENIED.
 */
export function requireScope(identity: Identity, method: DescMethod): void {
  requireOneScope(identity, scopeOf(method));
}

function requireOneScope({ scopes }: Identity, required: string): void {
  if (required !== "" && (scopes === "all" || scopes.has(required))) return;
  throw new DomainError("PERMISSION_DENIED", `the caller lacks the scope ${required}`, {
    scope: required,
  });
}

const isLimited = ({ programIds, ownerPrefixes, actorPrefixes, eventTypes }: Identity): boolean =>
  [programIds, ownerPrefixes, actorPrefixes, eventTypes].some((limit) => limit !== undefined);

/** Whether a caller may name this program. */
export const mayUseProgram = ({ programIds }: Identity, programId: string): boolean =>
  programIds?.has(programId) ?? true;

/** Whether a caller may read events of this type. */
export const mayReadEventType = ({ eventTypes }: Identity, type: string): boolean =>
  eventTypes?.some((each) => (each.endsWith(".") ? type.startsWith(each) : type === each)) ?? true;

async function requireWithinLimits(
  identity: Identity,
  message: ReflectMessage,
  owners: TargetOwners,
): Promise<void> {
  const { named, nested } = namingFields(message.desc);
  for (const { field, role } of named) {
    for (const value of valuesOf(message, field)) {
      if (await isWithinLimits(identity, role, value, owners)) continue;
      throw new DomainError("PERMISSION_DENIED", `the caller may not use this ${field.name}`, {
        field: field.name,
      });
    }
  }
  for (const field of nested) {
    for (const value of valuesOf(message, field)) {
      await requireWithinLimits(identity, value as ReflectMessage, owners);
    }
  }
}

/** Whether the caller may use a value of a field with this role. */
async function isWithinLimits(
  identity: Identity,
  role: Role,
  value: unknown,
  owners: TargetOwners,
): Promise<boolean> {
  const { programIds, ownerPrefixes, actorPrefixes } = identity;
  switch (role) {
    case Role.PROGRAM:
      return mayUseProgram(identity, toProgramId(value as string));
    case Role.OWNER:
      return beginsWithOne(value as string, ownerPrefixes);
    case Role.ACTOR:
      return value === "" || beginsWithOne(value as string, actorPrefixes);
    case Role.TARGET: {
      if (ownerPrefixes === undefined) return true;
      const { type, id } = (value as ReflectMessage).message as Message & TargetName;
      const ownerId = await owners.of({ type, id }).catch(ignoreUnknown);
      return ownerId === undefined || beginsWithOne(ownerId, ownerPrefixes);
    }
    case Role.EVENT_TYPE:
      return mayReadEventType(identity, value as string);
    case Role.ALL_PROGRAMS:
      return value === false || !(programIds ?? ownerPrefixes ?? actorPrefixes);
    default:
      return true;
  }
}

/** An unknown target is left to the handler. */
function ignoreUnknown(error: unknown): undefined {
  if (error instanceof DomainError && error.reason === "TARGET_NOT_FOUND") return;
  throw error;
}

const beginsWithOne = (id: string, prefixes: readonly string[] | undefined): boolean =>
  prefixes?.some((prefix) => id.startsWith(prefix)) ?? true;

/** The values of a field that are set: one, or each element of a list. */
function valuesOf(message: ReflectMessage, field: DescField): Iterable<unknown> {
  if (field.fieldKind === "list") return message.get(field);
  if (field.fieldKind === "message" && !message.isSet(field)) return [];
  return [message.get(field)];
}

const cache = new WeakMap<DescMessage, NamingFields>();

function namingFields(message: DescMessage): NamingFields {
  const known = cache.get(message);
  if (known) return known;
  const named = message.fields
    .map((field) => ({ field, role: getOption(field, role) }))
    .filter(({ role }) => role !== Role.UNSPECIFIED);
  const others = message.fields.filter(({ message: inner }) => inner !== undefined);
  const nested = others.filter((field) => !named.some((one) => one.field === field));
  const scoped = message.fields
    .map((field) => ({ field, scope: getOption(field, field_scope) }))
    .filter(({ scope }) => scope !== "");
  const found = { named, nested, scoped };
  cache.set(message, found);
  return found;
}
