/** Turns the templates of a history into requests, with the versions that exist by then. */
import type { Oracle } from "./reactions-oracle.ts";
import type { LineName, Request, RequestOf, TargetName } from "./reactions-requests.ts";
import {
  type Known,
  names,
  type RequestTemplate,
  services,
  userIds,
} from "./reactions-templates.ts";

/** What a template is about. */
interface Place {
  readonly target: TargetName;
  readonly oracle: Oracle;
  /** The beginning of every id. */
  readonly prefix: string;
}

type TemplateOf<Op extends RequestTemplate["op"]> = Extract<RequestTemplate, { op: Op }>;

export function requestOf(place: Place, template: RequestTemplate): Request {
  const { target, oracle, prefix } = place;
  const userOf = (index: number) => `${prefix}${userIds[index]}`;
  switch (template.op) {
    case "register":
      return { op: "register", target, title: ["", "one", "another"][template.title] as string };
    case "react": {
      const { op, kind, exclusive, silent } = template;
      const displayName = names[template.name] as string;
      return { op, target, kind, userId: userOf(template.user), displayName, exclusive, silent };
    }
    case "unreact":
      return { op: "unreact", target, kind: template.kind, userId: userOf(template.user) };
    case "leave":
      return leave(place, template);
    case "notify":
      return notify(place, template);
    case "read": {
      const line = { target, kind: template.kind };
      return { op: "read", ...line, version: versionOf(oracle, template.known, line) };
    }
    case "readAll":
    case "seen":
      return { op: template.op, version: versionOf(oracle, template.known) };
    case "mute":
      return { op: "mute", target, muted: template.muted };
    case "mutePerson":
      return { op: "mutePerson", userId: userOf(template.user), muted: template.muted };
    case "prefer": {
      const { allMuted, mutedKinds } = template;
      return { op: "prefer", preferences: { allMuted, mutedKinds } };
    }
    default:
      return { op: template.op, target };
  }
}

function leave({ target, oracle, prefix }: Place, { kind, back }: TemplateOf<"leave">): Request {
  const members = oracle.unreadOf({ target, kind })?.members ?? [];
  const userId = members.at(-1 - (back % members.length))?.userId ?? `${prefix}${userIds[0]}`;
  return { op: "unreact", target, kind, userId };
}

function notify({ target, oracle, prefix }: Place, template: TemplateOf<"notify">): Request {
  const { kind, event, user, name, again } = template;
  const service = services[template.service] as string;
  const eventId = `e-${event}`;
  const known = again ? oracle.event(service, eventId) : undefined;
  const userId = user === undefined ? "" : `${prefix}${userIds[user]}`;
  const displayName = names[name] as string;
  const actor = { userId, displayName };
  const request: RequestOf<"notify"> = { op: "notify", service, eventId, target, kind, ...actor };
  return known ?? request;
}

/** A version of one line or of any line: an earlier, the current or a later one. */
function versionOf(oracle: Oracle, { at: where, back }: Known, name?: LineName): number {
  const { version } = oracle.badge;
  const one = name && oracle.unreadOf(name);
  const lines = name ? (one ? [one] : []) : oracle.unread;
  const members = lines[back % lines.length]?.members ?? [];
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
