// The socket to the server. It is opened again when the server was restarted with the same address.
import type { Answer, Wanted } from "./protocol.ts";

const AGAIN_MS = 1000;

export class Connection {
  private socket: WebSocket | null = null;

  constructor(
    private readonly heard: (answer: Answer) => void,
    private readonly changed: (open: boolean) => void,
  ) {
    this.open();
  }

  show(wanted: Wanted): void {
    this.send({ type: "show", wanted });
  }

  check(wanted: Wanted): void {
    this.send({ type: "check", wanted });
  }

  axis(wanted: Wanted): void {
    this.send({ type: "axis", wanted });
  }

  page(wanted: Wanted): void {
    this.send({ type: "page", wanted });
  }

  packets(wanted: Wanted): void {
    this.send({ type: "packets", wanted });
  }

  stop(): void {
    this.send({ type: "stop" });
  }

  private send(message: unknown): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  private open(): void {
    const address = new URL("socket", location.href);
    address.protocol = "ws:";
    address.hash = "";
    const socket = new WebSocket(address);
    this.socket = socket;
    socket.onopen = () => this.changed(true);
    socket.onmessage = (event) => this.heard(JSON.parse(String(event.data)) as Answer);
    socket.onclose = () => {
      this.changed(false);
      setTimeout(() => this.open(), AGAIN_MS);
    };
  }
}
