/** The fields that requests must have. Generated from proto/ by `npm run generate`. */

/** By the name of a message: the fields and oneofs without which the server refuses it. */
export interface RequiredFields {
  readonly "meguri.acts.v1.ListActsRequest": "createTimeFrom";
  readonly "meguri.bulkgrants.v1.ApproveBulkGrantRequest": "bulkGrantId" | "digest";
  readonly "meguri.bulkgrants.v1.CancelBulkGrantRequest": "bulkGrantId";
  readonly "meguri.bulkgrants.v1.CheckSheetRequest": "bulkGrantId" | "content";
  readonly "meguri.bulkgrants.v1.ExportBulkGrantAuditRequest": "bulkGrantId";
  readonly "meguri.bulkgrants.v1.ExportFailedBulkGrantRowsRequest": "bulkGrantId";
  readonly "meguri.bulkgrants.v1.GetBulkGrantRequest": "bulkGrantId";
  readonly "meguri.bulkgrants.v1.GetBulkGrantSummaryRequest": "bulkGrantId";
  readonly "meguri.bulkgrants.v1.ListBulkGrantActionsRequest": "bulkGrantId";
  readonly "meguri.bulkgrants.v1.ListBulkGrantRevisionsRequest": "bulkGrantId";
  readonly "meguri.bulkgrants.v1.ListBulkGrantRowsRequest": "bulkGrantId";
  readonly "meguri.bulkgrants.v1.PauseBulkGrantRequest": "bulkGrantId";
  readonly "meguri.bulkgrants.v1.RejectBulkGrantRequest": "bulkGrantId";
  readonly "meguri.bulkgrants.v1.RequestGrantRequest": "bulkGrantId" | "userId" | "points";
  readonly "meguri.bulkgrants.v1.RequestRevokeRequest": "bulkGrantId" | "userId" | "grantEvent";
  readonly "meguri.bulkgrants.v1.ResumeBulkGrantRequest": "bulkGrantId";
  readonly "meguri.bulkgrants.v1.RetryBulkGrantRequest": "bulkGrantId";
  readonly "meguri.bulkgrants.v1.ReverseBulkGrantRequest": "bulkGrantId" | "reversedBulkGrantId";
  readonly "meguri.bulkgrants.v1.SubmitBulkGrantRequest": "bulkGrantId" | "content";
  readonly "meguri.bulkgrants.v1.UploadBulkGrantRequest": "content";
  readonly "meguri.bulkgrants.v1.UploadBulkGrantRequest.Header": "bulkGrantId";
  readonly "meguri.bulkgrants.v1.WatchBulkGrantRequest": "bulkGrantId";
  readonly "meguri.holds.v1.CapturePointsRequest": "userId" | "holdId" | "eventId";
  readonly "meguri.holds.v1.GetHoldRequest": "holdId";
  readonly "meguri.holds.v1.HoldPointsRequest": "userId" | "holdId" | "points" | "until";
  readonly "meguri.holds.v1.ListHoldsRequest": "userId";
  readonly "meguri.holds.v1.ReleaseHoldRequest": "userId" | "holdId";
  readonly "meguri.notifications.v1.BlockPersonRequest": "ownerId" | "userId";
  readonly "meguri.notifications.v1.DismissNotificationRequest":
    | "ownerId"
    | "notificationId"
    | "version";
  readonly "meguri.notifications.v1.GetNotificationRequest": "ownerId" | "notificationId";
  readonly "meguri.notifications.v1.GetPreferencesRequest": "ownerId";
  readonly "meguri.notifications.v1.GetUnreadCountRequest": "ownerId";
  readonly "meguri.notifications.v1.ListMutedPeopleRequest": "ownerId";
  readonly "meguri.notifications.v1.ListMutedTargetsRequest": "ownerId";
  readonly "meguri.notifications.v1.ListNotificationActorsRequest": "ownerId" | "notificationId";
  readonly "meguri.notifications.v1.ListNotificationsRequest": "ownerId";
  readonly "meguri.notifications.v1.MarkAllNotificationsReadRequest": "ownerId" | "version";
  readonly "meguri.notifications.v1.MarkNotificationReadRequest":
    | "ownerId"
    | "notificationId"
    | "version";
  readonly "meguri.notifications.v1.MarkNotificationUnreadRequest": "ownerId" | "notificationId";
  readonly "meguri.notifications.v1.MarkNotificationsSeenRequest": "ownerId" | "version";
  readonly "meguri.notifications.v1.NotifyRequest": "eventId" | "kind";
  readonly "meguri.notifications.v1.Preferences": "ownerId";
  readonly "meguri.notifications.v1.RetractEventRequest": "eventId";
  readonly "meguri.notifications.v1.SetPersonMutedRequest": "ownerId" | "userId";
  readonly "meguri.notifications.v1.SetTargetMutedRequest": "ownerId" | "targetName";
  readonly "meguri.notifications.v1.UpdatePreferencesRequest": "preferences";
  readonly "meguri.notifications.v1.WatchUnreadCountsRequest": "watches";
  readonly "meguri.notifications.v1.WatchUnreadCountsRequest.Watch": "ownerId";
  readonly "meguri.points.v1.CreateLiabilityReportRequest": "jobId";
  readonly "meguri.points.v1.EventName": "eventId";
  readonly "meguri.points.v1.ExportLedgerRequest": "jobId" | "destination" | "createTimeBefore";
  readonly "meguri.points.v1.ExtendExpiryRequest":
    | "userId"
    | "eventId"
    | "grantEvent"
    | "expireMonth";
  readonly "meguri.points.v1.FreezeAccountRequest": "userId" | "eventId";
  readonly "meguri.points.v1.GetBalanceRequest": "userId";
  readonly "meguri.points.v1.GetForecastRequest": "userId" | "time";
  readonly "meguri.points.v1.GetLedgerEntryRequest": "userId" | "key";
  readonly "meguri.points.v1.GetLedgerExportRequest": "jobId";
  readonly "meguri.points.v1.GetLiabilityReportRequest": "jobId";
  readonly "meguri.points.v1.GetProgramVerificationRequest": "jobId";
  readonly "meguri.points.v1.GrantPointsRequest": "userId" | "eventId" | "points";
  readonly "meguri.points.v1.ListLedgerEntriesRequest": "userId";
  readonly "meguri.points.v1.RefundPointsRequest":
    | "userId"
    | "eventId"
    | "useEventId"
    | "expiredPointsPolicy";
  readonly "meguri.points.v1.RevokePointsRequest": "userId" | "eventId" | "grantEvent";
  readonly "meguri.points.v1.UnfreezeAccountRequest": "userId" | "eventId";
  readonly "meguri.points.v1.UsePointsRequest": "userId" | "eventId" | "points";
  readonly "meguri.points.v1.VerifyAccountRequest": "userId";
  readonly "meguri.points.v1.VerifyProgramRequest": "jobId";
  readonly "meguri.programs.v1.ApproveRulesChangeRequest": "programId" | "digest";
  readonly "meguri.programs.v1.CreateProgramRequest": "programId";
  readonly "meguri.programs.v1.GetProgramRequest": "programId";
  readonly "meguri.programs.v1.ListRulesChangesRequest": "programId";
  readonly "meguri.programs.v1.Program": "programId";
  readonly "meguri.programs.v1.Program.BulkRules.ApprovalTier":
    | "maxTotalPoints"
    | "requiredApprovalCount";
  readonly "meguri.programs.v1.RejectRulesChangeRequest": "programId" | "digest";
  readonly "meguri.programs.v1.UpdateProgramRequest": "program";
  readonly "meguri.reactions.v1.BatchGetReactionSummariesRequest": "targetNames";
  readonly "meguri.reactions.v1.DeleteTargetRequest": "targetName";
  readonly "meguri.reactions.v1.ListTargetReactionsRequest": "targetName";
  readonly "meguri.reactions.v1.ListUserReactionsRequest": "userId";
  readonly "meguri.reactions.v1.ReactRequest": "targetName" | "userId" | "displayName";
  readonly "meguri.reactions.v1.RegisterTargetRequest": "targetName" | "ownerId";
  readonly "meguri.reactions.v1.TargetName": "type" | "id";
  readonly "meguri.reactions.v1.UnreactRequest": "targetName" | "userId";
  readonly "meguri.reservations.v1.BatchCreateReservationsRequest": "reservations";
  readonly "meguri.reservations.v1.CancelReservationRequest": "reservationId";
  readonly "meguri.reservations.v1.CancelReservationsRequest": "filter";
  readonly "meguri.reservations.v1.ChangeReservationPointsRequest": "reservationId" | "points";
  readonly "meguri.reservations.v1.CreateReservationRequest":
    | "reservationId"
    | "userId"
    | "points"
    | "executeTime";
  readonly "meguri.reservations.v1.GetReservationRequest": "reservationId";
  readonly "meguri.reservations.v1.ListReservationsRequest": "filter";
  readonly "meguri.reservations.v1.NewReservation":
    | "reservationId"
    | "userId"
    | "points"
    | "executeTime";
  readonly "meguri.reservations.v1.ReasonFilter":
    | "reasonPrefix"
    | "executeTimeFrom"
    | "executeTimeBefore";
  readonly "meguri.reservations.v1.RescheduleReservationRequest": "reservationId" | "executeTime";
  readonly "meguri.reservations.v1.RetryReservationRequest": "reservationId";
  readonly "meguri.testing.v1.AdvanceRequest": "duration";
  readonly "meguri.testing.v1.SetTimeRequest": "time";
}
