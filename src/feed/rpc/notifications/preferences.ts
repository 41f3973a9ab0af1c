/** The handlers of the NotificationService for what an owner has muted. */
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type Preferences,
  PreferencesSchema,
} from "../../../gen/meguri/notifications/v1/notification_pb.ts";
import {
  BlockPersonRequestSchema,
  ListMutedPeopleRequestSchema,
  ListMutedTargetsRequestSchema,
  type NotificationService,
} from "../../../gen/meguri/notifications/v1/notification_service_pb.ts";
import { callOf } from "../../../platform/edge/context.ts";
import { requestedPage } from "../../../platform/messages/page-tokens.ts";
import { maskedFields } from "../../../platform/messages/update-masks.ts";
import type { Deps } from "../../ports/deps.ts";
import { blockPerson } from "../../use-cases/notifications/block-person.ts";
import { unreadCountOf } from "../../use-cases/notifications/inbox.ts";
import { listMutedPeople, setPersonMuted } from "../../use-cases/notifications/muted-people.ts";
import { listMutedTargets } from "../../use-cases/notifications/muted-targets.ts";
import {
  type OwnerPreferences,
  preferencesOf,
  updatePreferences,
} from "../../use-cases/notifications/preferences.ts";
import { setTargetMuted } from "../../use-cases/reactions/targets.ts";
import { toKinds } from "../kinds.ts";
import { fromTarget, toTargetName } from "../reactions/service.ts";
import { fromUnreadCount } from "./messages.ts";

type Handlers = Pick<
  ServiceImpl<typeof NotificationService>,
  | "getPreferences"
  | "updatePreferences"
  | "setTargetMuted"
  | "listMutedTargets"
  | "setPersonMuted"
  | "listMutedPeople"
  | "blockPerson"
>;

export const preferences = (deps: Deps): Handlers => ({
  getPreferences: async ({ ownerId }) => ({
    preferences: fromPreferences(await preferencesOf(deps, ownerId)),
  }),

  async updatePreferences(request, context) {
    const { updateMask } = request;
    const preferences = request.preferences as Preferences;
    const { ownerId, etag } = preferences;
    const mutedKinds = toKinds(preferences.mutedKinds, "preferences.muted_kinds");
    const mutedEventKinds = toKinds(preferences.mutedEventKinds, "preferences.muted_event_kinds");
    const given = { ...preferences, mutedKinds, mutedEventKinds };
    const changes = maskedFields(updatable, given, updateMask);
    const input = { ownerId, changes, etag, ...callOf(context) };
    return { preferences: fromPreferences(await updatePreferences(deps, input)) };
  },

  async setTargetMuted(request, context) {
    const { ownerId, muted } = request;
    const input = { ownerId, target: toTargetName(request), muted, ...callOf(context) };
    return { target: fromTarget(await setTargetMuted(deps, input)) };
  },

  async listMutedTargets(request) {
    const { page, next } = requestedPage(ListMutedTargetsRequestSchema, request);
    const found = await listMutedTargets(deps, request.ownerId, page);
    return { targets: found.items.map(fromTarget), nextPageToken: next(found) };
  },

  async setPersonMuted({ ownerId, userId, muted }, context) {
    const input = { ownerId, userId, muted, ...callOf(context) };
    return { changed: await setPersonMuted(deps, input) };
  },

  async blockPerson(request, context) {
    const { ownerId, userId } = request;
    const { page, next } = requestedPage(BlockPersonRequestSchema, request);
    const input = { ownerId, userId, cursor: page.cursor, ...callOf(context) };
    const found = await blockPerson(deps, input);
    const unreadCount = fromUnreadCount(unreadCountOf(found.inbox));
    return { changed: found.changed, unreadCount, nextPageToken: next(found) };
  },

  async listMutedPeople(request) {
    const { page, next } = requestedPage(ListMutedPeopleRequestSchema, request);
    const found = await listMutedPeople(deps, request.ownerId, page);
    return { userIds: found.items.map(({ userId }) => userId), nextPageToken: next(found) };
  },
});

const updatable = {
  schema: PreferencesSchema,
  path: "preferences",
  key: ["owner_id", "etag"],
  updatable: ["all_muted", "muted_kinds", "muted_event_kinds"],
};

const fromPreferences = ({ mutedKinds, mutedEventKinds, ...others }: OwnerPreferences) => ({
  ...others,
  mutedKinds: [...mutedKinds],
  mutedEventKinds: [...mutedEventKinds],
});
