/** Follows the reading of many ranks: reports its progress, and requests the page again when there is more to show. */
import { setProps } from "../../../web/core/dash.ts";
import type { Api } from "../../../web/core/request.ts";
import type { FollowedRanks, RanksRead } from "./messages.generated.ts";

const LOOK_MS = 700;

export class ReadRanks {
  /** The reading that the page follows, in the state that the page shows. */
  #shown: FollowedRanks | null = null;
  /** Whether the page has been requested; another request would discard the one in progress. */
  #asking = false;
  #looking = 0;
  #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Called when the page shows its ranks in the state known at one time. */
  shows(followed: FollowedRanks | null): void {
    this.#shown = followed;
    clearTimeout(this.#looking);
    if (followed?.running) void this.#look();
    else this.#say("");
  }

  /** Called when the page is being loaded or has arrived. */
  asks(asking: boolean): void {
    this.#asking = asking;
  }

  #say(words: string): void {
    const line = document.getElementById("profile-ranks-line");
    if (line && line.textContent !== words) line.textContent = words;
  }

  async #look(): Promise<void> {
    const shown = this.#shown;
    let read: RanksRead | null | undefined;
    try {
      read = document.hidden ? undefined : await this.#api.ask<RanksRead | null>("ranks", { job: shown?.job });
    } catch {
      // The server is gone; the header reports that.
    }
    if (shown !== this.#shown || !document.getElementById("profile-ranks-line")) return;
    if (read !== undefined) {
      this.#say(read?.words ?? "");
      // If the reading is no longer kept, the requested page starts it again.
      if (read?.version !== shown?.version && !this.#asking) setProps("profile-ranks-wanted", { data: Date.now() });
    }
    this.#looking = window.setTimeout(() => void this.#look(), LOOK_MS);
  }
}
