/** The handlers of the NotificationService for what an owner has muted. */
import type { ServiceImpl } from "@connectrpc/connect";
import { listMutedPeople, setPersonMuted } from "../../app/notifications/muted-people.ts";
import { preferencesOf, updatePreferences } from "../../app/notifications/preferences.ts";
import type { Deps } from "../../app/ports/deps.ts";
import { setTargetMuted } from "../../app/reactions/targets.ts";
import type { Preferences } from "../../domain/inbox.ts";
import type { Preferences as Message } from "../../gen/meguri/notifications/v1/notification_pb.ts";
import {
  ListMutedPeopleRequestSchema,
  type NotificationService,
} from "../../gen/meguri/notifications/v1/notification_service_pb.ts";
import { fromTarget, toTarget } from "../reactions/targets.ts";
import { deadlineOf } from "../server/context.ts";
import { requestedPage } from "../server/page-tokens.ts";

type Handlers = Pick<
  ServiceImpl<typeof NotificationService>,
  "getPreferences" | "updatePreferences" | "setTargetMuted" | "setPersonMuted" | "listMutedPeople"
>;

export const preferences = (deps: Deps): Handlers => ({
  getPreferences: async ({ ownerId }) => ({
    preferences: fromPreferences(await preferencesOf(deps, ownerId)),
  }),

  async updatePreferences(request, context) {
    const { allMuted, mutedKinds } = request.preferences as Message;
    const input = { ownerId: request.ownerId, preferences: { allMuted, mutedKinds } };
    const updated = await updatePreferences(deps, { ...input, deadline: deadlineOf(context) });
    return { preferences: fromPreferences(updated) };
  },

  async setTargetMuted(request, context) {
    const { ownerId, muted } = request;
    const input = { ownerId, target: toTarget(request), muted, deadline: deadlineOf(context) };
    return { target: fromTarget(await setTargetMuted(deps, input)) };
  },

  async setPersonMuted({ ownerId, userId, muted }, context) {
    const input = { ownerId, userId, muted, deadline: deadlineOf(context) };
    return { changed: await setPersonMuted(deps, input) };
  },

  async listMutedPeople(request) {
    const { page, next } = requestedPage(ListMutedPeopleRequestSchema, request);
    const found = await listMutedPeople(deps, request.ownerId, page);
    return { userIds: found.items.map(({ userId }) => userId), nextPageToken: next(found) };
  },
});

const fromPreferences = ({ allMuted, mutedKinds }: Preferences) => ({
  allMuted,
  mutedKinds: [...mutedKinds],
});
