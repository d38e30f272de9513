/** Follows the reading of many ranks: says how far it is, and asks for the page again when there is more to show. */
import { setProps } from "../../../web/core/dash.ts";
import type { Api } from "../../../web/core/request.ts";
import type { FollowedRanks, RanksRead } from "./messages.generated.ts";

const LOOK_MS = 700;

export class ReadRanks {
  /** The reading that the page follows, as far as the page shows it. */
  #shown: FollowedRanks | null = null;
  /** The page has been asked for, and what it was asked for before would be dropped. */
  #asking = false;
  #looking = 0;
  #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** The page shows what was known of its ranks at one time. */
  shows(followed: FollowedRanks | null): void {
    this.#shown = followed;
    clearTimeout(this.#looking);
    if (followed?.running) void this.#look();
    else this.#say("");
  }

  /** The page is on its way, or it is there. */
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
      // The server is gone; the header says so.
    }
    if (shown !== this.#shown || !document.getElementById("profile-ranks-line")) return;
    if (read !== undefined) {
      this.#say(read?.words ?? "");
      // Not kept any more: the page that is asked for begins it again.
      if (read?.version !== shown?.version && !this.#asking) setProps("profile-ranks-wanted", { data: Date.now() });
    }
    this.#looking = window.setTimeout(() => void this.#look(), LOOK_MS);
  }
}
