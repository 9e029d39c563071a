// Appends mention evidence in a running Pi, at the moment when the contract wants it: at `context` the
// user's message is on disk and has its id, and the model has not been asked yet.
//
// Whom a message names is not decided here: `MARKS` is a table from whole texts to handles, so a marker
// that lands on the wrong message shows in the test.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const marks: Record<string, string[]> = JSON.parse(process.env.MARKS ?? "{}");
const person = (handle: string) => ({ id: `github:${handle.toLowerCase()}`, handle });

export default function (pi: ExtensionAPI) {
  let seen = new Set<string>();
  pi.on("session_start", (_event, context) => {
    seen = new Set(context.sessionManager.getEntries().map((entry) => entry.id));
  });
  pi.on("context", (_event, context) => {
    for (const entry of context.sessionManager.getBranch()) {
      if (seen.has(entry.id) || entry.type !== "message" || entry.message.role !== "user") continue;
      seen.add(entry.id);
      const { content } = entry.message;
      const text = typeof content === "string" ? content : content.map((part) => ("text" in part ? part.text : "")).join("");
      const recipients = (marks[text] ?? []).map(person);
      if (recipients.length === 0) continue;
      pi.appendEntry("chi.messaging.mentions", {
        schemaVersion: 1,
        actor: person("Ada"),
        recipients,
        target: { sessionId: context.sessionManager.getSessionId(), entryId: entry.id },
      });
    }
  });
}
