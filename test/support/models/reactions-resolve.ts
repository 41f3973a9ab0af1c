/** Turns the templates of a history into requests, with the versions that exist by then. */
import type { Oracle } from "./reactions-oracle.ts";
import {
  type GroupName,
  groupText,
  isSame,
  type NotificationName,
  noTarget,
  type Request,
  type TargetName,
} from "./reactions-requests.ts";
import {
  type Known,
  names,
  type RequestTemplate,
  services,
  userIds,
} from "./reactions-templates.ts";

const hour = 3_600_000;

/** What a template is about. */
interface Subject {
  readonly target: TargetName;
  /** All targets of the owner. */
  readonly targets: readonly TargetName[];
  readonly oracle: Oracle;
  /** The beginning of every id. */
  readonly prefix: string;
}

type TemplateOf<Op extends RequestTemplate["op"]> = Extract<RequestTemplate, { op: Op }>;

export function requestOf(subject: Subject, template: RequestTemplate): Request {
  const { target, oracle, prefix } = subject;
  const userOf = (index: number) => `${prefix}${userIds[index]}`;
  switch (template.op) {
    case "register":
      return { op: "register", target, title: ["", "one", "another"][template.title] as string };
    case "react": {
      const { op, kind, exclusive, silent, coolDownHours } = template;
      const displayName = names[template.name] as string;
      const who = { userId: userOf(template.user), displayName };
      const coolDownMs = coolDownHours === undefined ? undefined : coolDownHours * hour;
      const rules = { coolDownMs, regroupAfterMs: regroupAfterOf(template) };
      return { op, target, kind, ...who, exclusive, silent, ...rules };
    }
    case "unreact":
      return { op: "unreact", target, kind: template.kind, userId: userOf(template.user) };
    case "leave":
      return leave(subject, template);
    case "notify":
      return notify(subject, template);
    case "retract":
      return retract(subject, template);
    case "read":
    case "dismiss":
      return { op: template.op, ...mark(subject, template) };
    case "unread":
      return { op: "unread", ...pickOf(oracle, { target, kind: template.kind }, template.pick) };
    case "readAll":
    case "seen":
      return { op: template.op, version: versionOf(oracle, template.known, oracle.unread) };
    case "mute":
      return { op: "mute", target, muted: template.muted };
    case "mutePerson":
      return { op: "mutePerson", userId: userOf(template.user), muted: template.muted };
    case "block":
      return { op: "block", userId: userOf(template.user) };
    case "prefer": {
      const { allMuted, mutedKinds, mutedEventKinds } = template;
      return { op: "prefer", preferences: { allMuted, mutedKinds, mutedEventKinds } };
    }
    default:
      return { op: template.op, target };
  }
}

const regroupAfterOf = ({ regroupAfterHours: hours }: TemplateOf<"react" | "notify">) =>
  hours === undefined ? undefined : hours * hour;

function leave({ target, oracle, prefix }: Subject, { kind, back }: TemplateOf<"leave">): Request {
  const all = oracle.unread.filter((each) => groupText(each) === groupText({ target, kind }));
  const members = all.flatMap(({ members }) => members);
  const userId = members.at(-1 - (back % members.length))?.userId ?? `${prefix}${userIds[0]}`;
  return { op: "unreact", target, kind, userId };
}

/** Whether an event is about a target of the owner or about none. */
const isOwn = ({ targets }: Subject, target: TargetName): boolean =>
  [noTarget, ...targets].some((each) => isSame(each, target));

function notify(subject: Subject, template: TemplateOf<"notify">): Request {
  const { target, oracle, prefix } = subject;
  const { kind, event, user, name, again, about } = template;
  const service = services[template.service] as string;
  const eventId = `e-${event}`;
  const known = again ? oracle.event(service, eventId) : undefined;
  if (known && isOwn(subject, known.target)) return known;
  const userId = user === undefined ? "" : `${prefix}${userIds[user]}`;
  const link = event % 3 === 0 ? "" : `/events/${event}`;
  const data = "巡".repeat(event);
  const content = { userId, displayName: names[name] as string, link, data };
  const regroupAfterMs = regroupAfterOf(template);
  const where = { target: about ? target : noTarget, kind };
  return { op: "notify", service, eventId, ...where, ...content, regroupAfterMs };
}

function retract(subject: Subject, template: TemplateOf<"retract">): Request {
  const { target, oracle } = subject;
  const { event, back } = template;
  const named = { service: services[template.service] as string, eventId: `e-${event}` };
  const known = oracle.events.at(-1 - back) ?? { ...named, target };
  // The owner is named when the event is about no target of the owner.
  return {
    op: "retract",
    ...known,
    target: isOwn(subject, known.target) ? known.target : noTarget,
  };
}

function mark(
  { target, oracle }: Subject,
  { kind, pick, known }: TemplateOf<"read" | "dismiss">,
): NotificationName & { readonly version: number } {
  const name = pickOf(oracle, { target, kind }, pick);
  const { generation } = name;
  const all = oracle.unread.filter((each) => isSame(each.target, target) && each.kind === kind);
  const picked = all.filter((each) => each.generation === generation);
  return { ...name, version: versionOf(oracle, known, picked) };
}

/** The name of a notification; one that does not exist if there is none. */
function pickOf(oracle: Oracle, group: GroupName, pick: "open" | number): NotificationName {
  const all = oracle.notifications.filter((each) => groupText(each) === groupText(group));
  const open = all.find(({ state }) => state === "open");
  const picked = pick === "open" ? open : all.at(-1 - (pick % all.length));
  return { ...group, generation: picked?.generation ?? 1 };
}

/** A version of one of the notifications: an earlier, the current or a later one. */
function versionOf(oracle: Oracle, { at: where, back }: Known, unread: Oracle["unread"]): number {
  const { version } = oracle.badge;
  const members = unread[back % unread.length]?.members ?? [];
  const member = members[back % members.length]?.version ?? version;
  const versions = {
    number: version - back,
    member,
    between: member - 1,
    last: members.at(-1)?.version ?? version,
    stale: (members[0]?.version ?? version) - 1 - back,
    future: version + 1 + back,
  };
  return Math.max(versions[where], 1);
}
