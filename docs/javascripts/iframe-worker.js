// Browsers start no workers for pages that are opened from a folder. There, the search runs in an empty frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.started = new Promise((start) => {
        const frame = document.createElement("iframe")
        frame.hidden = true
        frame.onload = () => {
          const inside = frame.contentWindow
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
          const script = inside.document.createElement("script")
          script.src = url
          script.onload = () => start(inside)
          inside.document.body.append(script)
        }
        document.body.append(frame)
      })
    }

    postMessage(data) {
      this.started.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
